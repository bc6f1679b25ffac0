"""Files that look like secrets by their name. Programs and texts about secrets are none.

Plain words and no patterns: they are tried on every file of a project, at every submit.
"""

from __future__ import annotations

_NAMES = frozenset(
    [
        ".env",
        ".envrc",
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
        "credentials",
        ".credentials",
        "token",
        ".token",
        "token.json",
        "secret",
        "secrets",
        "password",
        "passwords",
    ]
)
_BEGINNINGS = (".env.", ".env_", ".env-", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "secrets.", ".password")
_ENDINGS = (
    *(".env", ".pem", ".key", ".ppk", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".token"),
    *("_token", "-token", "token.txt", "_token.json", "-token.json"),
)
_PARTS = ("client_secret", "api_key", "api-key", "apikey")
# These words are secrets before an ending that holds settings or a bare value, not before others.
_WORDS = ("secret", "secrets", "password", "passwords", "passwd")
_SETTINGS = (".json", ".txt", ".ini", ".cfg", ".conf", ".yaml", ".yml", ".toml", ".csv")

_HARMLESS = frozenset({".env.example", ".env.sample", ".env.template", ".env.dist"})
_HARMLESS_ENDINGS = (
    *(".pub", ".py", ".pyi", ".pyx", ".ipynb", ".md", ".rst", ".tex", ".c", ".h", ".cc", ".cpp", ".hpp", ".cu"),
    *(".rs", ".go", ".java", ".jl", ".r", ".m", ".f90"),
)
_FOLDERS = frozenset({".ssh", ".aws", ".gnupg", ".kube"})


def looks_secret(name: str) -> bool:
    lower = name.lower()
    *folders, last = lower.split("/")
    if folders and (not _FOLDERS.isdisjoint(folders) or _is_of_a_tool(f"/{lower}")):
        return True
    if last in _HARMLESS or last.endswith(_HARMLESS_ENDINGS):
        return False
    return last in _NAMES or last.startswith(_BEGINNINGS) or last.endswith(_ENDINGS) or _speaks_of_one(last)


def _is_of_a_tool(path: str) -> bool:
    return path.endswith("/.docker/config.json") or "/.config/gcloud/" in path


def _speaks_of_one(last: str) -> bool:
    if any(part in last for part in _PARTS):
        return True
    stem, dot, _ = last.rpartition(".")
    if not dot or not last.endswith(_SETTINGS):
        return False
    is_account = last.endswith(".json") and last.startswith(("service_account", "service-account"))
    return is_account or "credentials" in stem or stem.endswith(_WORDS)
