"""The text of every configuration file of a bed; writes them, starts nothing."""

import os
from collections.abc import Mapping
from pathlib import Path

from .layout import GPU_COUNT, Layout

GPU = "v100"
# Character major 42 is kept for sample code and has no driver. The major of /dev/null would be of no use with
# ConstrainDevices: a job without a GPU would lose /dev/null.
DEVICE_MAJOR = 42


def write_configuration(layout: Layout) -> None:
    etc = layout.root / "etc"
    layout.conf.write_text(slurm_conf(layout), encoding="utf-8")
    (etc / "gres.conf").write_text(gres_conf(layout), encoding="utf-8")
    (etc / "hosts").write_text(hosts(layout), encoding="utf-8")
    # Empty: with the site's resolver in it, every connection waits seconds for reverse DNS.
    (etc / "resolv.conf").touch()
    if layout.kind == "P":
        (etc / "cgroup.conf").write_text(CGROUP_CONF, encoding="utf-8")
        _write_secret(etc / "slurmdbd.conf", slurmdbd_conf(layout))
    _write_munge_key(layout.root / "munge" / "key")
    make_devices(layout)


def slurm_conf(layout: Layout, changes: Mapping[str, str] | None = None) -> str:
    settings = common_settings(layout)
    settings |= production_settings(layout) if layout.kind == "P" else SIMPLE_SETTINGS
    settings |= layout.settings | dict(changes or {})
    lines = [f"{name}={value}" for name, value in settings.items()]
    return "\n".join(lines + node_lines(layout) + partition_lines(layout)) + "\n"


def common_settings(layout: Layout) -> dict[str, str]:
    root = layout.root
    return {
        "ClusterName": f"bed{layout.tag}",
        "SlurmctldHost": f"{layout.host}({layout.address})",
        "SlurmctldPort": str(layout.controller_port),
        "SlurmUser": layout.user,
        "SlurmdUser": layout.user,
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={layout.munge_socket}",
        "CredType": "cred/munge",
        "StateSaveLocation": f"{root}/state",
        "SlurmdSpoolDir": f"{root}/spool/%n",
        "SlurmdPidFile": f"{root}/spool/%n/slurmd.pid",
        "SlurmctldPidFile": f"{root}/state/slurmctld.pid",
        "SlurmdLogFile": f"{root}/log/%n.log",
        "SlurmctldLogFile": f"{root}/log/controller.log",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_CPU_Memory",
        "SchedulerType": "sched/backfill",
        # The defaults wait 3 s after a submission and 30 s between looks of the backfill scheduler.
        "SchedulerParameters": "batch_sched_delay=0,sched_interval=1,bf_interval=1,bf_resolution=1",
        "SlurmdParameters": "config_overrides",
        "ReturnToService": "2",
        "GresTypes": "gpu",
        "MpiDefault": "none",
        "MessageTimeout": "10",
        "KillWait": "5",
        "JobRequeue": "1",
    }


SIMPLE_SETTINGS = {
    "ProctrackType": "proctrack/linuxproc",
    "TaskPlugin": "task/none",
    "JobAcctGatherType": "jobacct_gather/none",
    "AccountingStorageType": "accounting_storage/none",
}


def production_settings(layout: Layout) -> dict[str, str]:
    return {
        "ProctrackType": "proctrack/cgroup",
        "TaskPlugin": "task/cgroup",
        "JobAcctGatherType": "jobacct_gather/linux",
        "JobAcctGatherFrequency": "1",
        "AccountingStorageType": "accounting_storage/slurmdbd",
        # Not 127.0.0.1: jobs ask for their own record from inside the nodes.
        "AccountingStorageHost": layout.address,
        "AccountingStoragePass": f"socket={layout.munge_socket}",
        "AccountingStoragePort": str(layout.accounting_port),
        "AccountingStorageTRES": "gres/gpu",
        "SlurmdTimeout": "15",
        "MinJobAge": "20",
        "PreemptType": "preempt/partition_prio",
        "PreemptMode": "REQUEUE",
        "SlurmctldParameters": "preempt_send_user_signal",
    }


def node_lines(layout: Layout) -> list[str]:
    return [_node_line(layout, node) for node in layout.nodes]


def _node_line(layout: Layout, node: str) -> str:
    host = node if layout.kind == "P" else layout.host
    where = f"NodeHostname={host} NodeAddr={layout.node_addresses[node]} Port={layout.node_ports[node]}"
    return f"NodeName={node} {where} CPUs=8 RealMemory=4000 Gres=gpu:{GPU}:{GPU_COUNT} State=UNKNOWN"


def partition_lines(layout: Layout) -> list[str]:
    """The same names on both kinds, so that one test runs on both; only P preempts."""
    preempt = layout.kind == "P"
    rows = [
        ("low", "Default=YES MaxTime=1-0 PriorityTier=1", "PreemptMode=REQUEUE GraceTime=0"),
        ("lowg", "MaxTime=1-0 PriorityTier=1", "PreemptMode=REQUEUE GraceTime=12"),
        ("lowc", "MaxTime=1-0 PriorityTier=1", "PreemptMode=CANCEL GraceTime=12"),
        ("high", "MaxTime=1-0 PriorityTier=10", "PreemptMode=OFF"),
        ("short", "MaxTime=10 PriorityTier=1", "PreemptMode=OFF"),
    ]
    return [_partition_line(name, limits, mode if preempt else "") for name, limits, mode in rows]


def _partition_line(name: str, limits: str, preemption: str) -> str:
    return f"PartitionName={name} Nodes=ALL DefMemPerCPU=100 {limits} {preemption}".rstrip()


CGROUP_CONF = """\
CgroupPlugin=cgroup/v1
CgroupAutomount=yes
ConstrainRAMSpace=yes
ConstrainSwapSpace=no
ConstrainDevices=yes
"""


def gres_conf(layout: Layout) -> str:
    names = f"{layout.tag}[1-{len(layout.nodes)}]"
    return f"NodeName={names} Name=gpu Type={GPU} File={layout.root}/dev/nvidia[0-{GPU_COUNT - 1}]\n"


def hosts(layout: Layout) -> str:
    lines = ["127.0.0.1 localhost", f"{layout.address} {layout.host}"]
    lines += [f"{address} {node}" for node, address in layout.node_addresses.items()]
    return "\n".join(lines) + "\n"


def slurmdbd_conf(layout: Layout) -> str:
    settings = {
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={layout.munge_socket}",
        # slurmdbd stops unless this is the name of the machine it runs on.
        "DbdHost": layout.host,
        "DbdAddr": layout.address,
        "DbdPort": str(layout.accounting_port),
        "SlurmUser": layout.user,
        "LogFile": str(layout.log("accounting")),
        "PidFile": f"{layout.root}/state/slurmdbd.pid",
        "StorageType": "accounting_storage/mysql",
        "StorageHost": "localhost",
        "StorageUser": "root",
        "StorageLoc": "slurm",
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def make_devices(layout: Layout) -> None:
    for number in range(GPU_COUNT):
        path = layout.root / "dev" / f"nvidia{number}"
        if layout.kind == "P":
            os.mknod(path, 0o020666, os.makedev(DEVICE_MAJOR, number))
        else:
            path.symlink_to("/dev/null")


def _write_munge_key(path: Path) -> None:
    path.touch(0o600)
    path.write_bytes(os.urandom(128))


def _write_secret(path: Path, text: str) -> None:
    path.touch(0o600)
    path.write_text(text, encoding="utf-8")
