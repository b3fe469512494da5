"""The process that llama.cpp's server runs in: `python -m engines.servers.llama_cpp_child JSON`.

The wheel `xllamacpp` contains the server as a library with HTTP threads of its own; the process
waits until it is killed.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any


def parameters(wanted: dict[str, Any]) -> Any:
    """Returns the parameters of a llama.cpp server.

    wanted: `model`, `port`, `parallel`, `context` (positions of all requests together), `unified`
      (one cache for all requests), `threads`, and for speculation `draft`, `gamma`, `probabilistic`
      and `synthetic` (acceptance rates to simulate, by position).
    """
    import xllamacpp

    common = xllamacpp.CommonParams()
    common.model.path = wanted["model"]
    common.port = wanted["port"]
    common.n_parallel = wanted["parallel"]
    common.n_ctx = wanted["context"]
    common.kv_unified = wanted["unified"]
    common.endpoint_metrics = True
    draft = common.speculative.draft
    for processors in (
        common.cpuparams,
        common.cpuparams_batch,
        draft.cpuparams,
        draft.cpuparams_batch,
    ):
        processors.n_threads = wanted["threads"]
    if wanted.get("draft") is not None:
        kinds = xllamacpp.common_speculative_type
        common.speculative.types = [kinds.COMMON_SPECULATIVE_TYPE_DRAFT_SIMPLE]
        draft.mparams.path = wanted["draft"]
        draft.n_max = wanted["gamma"]
        draft.p_min = wanted["p_min"]
        draft.probabilistic = wanted["probabilistic"]
        if wanted.get("synthetic") is not None:
            if not hasattr(common.speculative, "synth_rates"):
                sys.exit("this version of llama.cpp cannot simulate acceptance")
            common.speculative.synth_rates = wanted["synthetic"]
    return common


def main() -> None:
    """Serves until killed."""
    import xllamacpp

    server = xllamacpp.Server(parameters(json.loads(sys.argv[1])))
    assert server.listening_address
    threading.Event().wait()


if __name__ == "__main__":
    main()
