"""How a command becomes many processes: one small file for each launch style. Pure."""

from voyageur.launch.catalogue import names, style_named, titles
from voyageur.launch.refusals import refuse
from voyageur.launch.style import RANK, Launcher, Services, Style, Tasks, Wanted

__all__ = ["RANK", "Launcher", "Services", "Style", "Tasks", "Wanted", "names", "refuse", "style_named", "titles"]
