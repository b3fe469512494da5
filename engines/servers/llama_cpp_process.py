"""The program that is llama.cpp's server, of the wheel `xllamacpp`.

It imports nothing else of this package, because each server starts an interpreter of its own.
Arguments: the server's parameters as a JSON object of attribute paths, and flags that end with the
port.
"""

import json
import sys
import threading
from collections.abc import Mapping
from functools import reduce
from typing import Any

import xllamacpp


def serve(parameters: Mapping[str, Any]) -> None:
    """Serves until the process ends; exits with a message if this version lacks a parameter."""
    common = xllamacpp.CommonParams()
    if "speculative.synth_rates" in parameters and not hasattr(common.speculative, "synth_rates"):
        sys.exit("this version of llama.cpp cannot simulate acceptance")
    for name, value in parameters.items():
        *parents, last = name.split(".")
        if last == "types":
            value = [getattr(xllamacpp.common_speculative_type, mode) for mode in value]
        setattr(reduce(getattr, parents, common), last, value)
    server = xllamacpp.Server(common)
    assert server.listening_address
    threading.Event().wait()


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]) | {"port": int(sys.argv[-1])})
