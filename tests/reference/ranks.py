"""Processes as torchrun starts them, forked from one that has imported all they need."""

import os
import signal
import socket
import traceback
from collections.abc import Callable


def forked_ranks(work: Callable[[], object], count: int = 2) -> list[int]:
    """Returns how each of several processes ended: its exit status, or the signal below 0.

    They find one another as under torchrun; once one has failed, the others are killed. Must be
    called before there are threads, which forked processes cannot share.

    Args:
      work: function that each process runs.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    counts = {"WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count}
    ranks: dict[int, int] = {}
    for rank in range(count):
        process = os.fork()
        if process == 0:
            own = {"RANK": rank, "LOCAL_RANK": rank, **counts, **shared}
            _run(work, {name: str(value) for name, value in own.items()})
        ranks[process] = rank
    ended = [0] * count
    while ranks:
        process, status = os.wait()
        ended[ranks.pop(process)] = os.waitstatus_to_exitcode(status)
        if status != 0:
            for other in ranks:
                os.kill(other, signal.SIGKILL)
    return ended


def _run(work: Callable[[], object], environment: dict[str, str]) -> None:
    status = 1
    try:
        os.environ |= environment
        work()
        status = 0
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)
