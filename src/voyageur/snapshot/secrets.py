"""Files that look like secrets by their name. Programs and texts about secrets are none."""

from __future__ import annotations

import fnmatch
import re

_NAMES = (
    ".env",
    ".env[._-]*",
    ".envrc",
    "*.env",
    "*.pem",
    "*.key",
    "*.ppk",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".s3cfg",
    ".boto",
    "rclone.conf",
    ".rclone.conf",
    ".renviron",
    ".htpasswd",
    ".dockercfg",
    ".git-credentials",
    "kubeconfig",
    "kaggle.json",
    "*client_secret*",
    "service[_-]account*.json",
    "*api[_-]key*",
    "*apikey*",
    "credentials",
    ".credentials",
    "*.token",
    "token",
    ".token",
    "*[_-]token",
    "*token.txt",
    "token.json",
    "*[_-]token.json",
    "secret",
    "secrets",
    "secrets.*",
    "password",
    "passwords",
    ".password*",
)
# These words are secrets before an ending that holds settings or a bare value, not before others.
_WORDS = ("*credentials*", "*secret", "*secrets", "*password", "*passwords", "*passwd")
_ENDINGS = (".json", ".txt", ".ini", ".cfg", ".conf", ".yaml", ".yml", ".toml", ".csv")
_NOT_SECRET = (
    ".env.example",
    ".env.sample",
    ".env.template",
    ".env.dist",
    "*.pub",
    *(f"*.{ending}" for ending in ("py", "pyi", "pyx", "ipynb", "md", "rst", "tex", "c", "h", "cc", "cpp", "hpp")),
    *(f"*.{ending}" for ending in ("cu", "rs", "go", "java", "jl", "r", "m", "f90")),
)
_FOLDERS = frozenset({".ssh", ".aws", ".gnupg", ".kube"})
_PATH = re.compile(r"(?:.*/)?(?:\.docker/config\.json|\.config/gcloud/.*)", re.DOTALL)


def looks_secret(name: str) -> bool:
    lower = name.lower()
    *folders, last = lower.split("/")
    if _FOLDERS & set(folders) or _PATH.fullmatch(lower):
        return True
    return bool(_SECRET.match(last)) and not _HARMLESS.match(last)


def _one_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """One expression for all of them: they are tried on every file of the project."""
    return re.compile("|".join(fnmatch.translate(pattern) for pattern in patterns))


_SECRET = _one_of((*_NAMES, *(f"{word}{ending}" for word in _WORDS for ending in _ENDINGS)))
_HARMLESS = _one_of(_NOT_SECRET)
