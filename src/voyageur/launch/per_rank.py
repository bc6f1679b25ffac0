"""The command once for each rank. Slurm starts them all, so nothing stands between a rank and its supervisor."""

from voyageur.launch.style import Style, Tasks


class PerRank(Style):
    name = "per-rank"
    title = "the command once per rank: one for each GPU, or as many as `tasks` says"
    tasks = Tasks.RANKS


STYLE = PerRank()
