"""A command in a container: one small file for each container runtime there is. Pure."""

from voyageur.containers.catalogue import by_programs, names, runtime_named, titles
from voyageur.containers.image import Image, image_named
from voyageur.containers.model import ContainerRuntime, Environment, Inside, Recipe

__all__ = [
    "ContainerRuntime",
    "Environment",
    "Image",
    "Inside",
    "Recipe",
    "by_programs",
    "image_named",
    "names",
    "runtime_named",
    "titles",
]
