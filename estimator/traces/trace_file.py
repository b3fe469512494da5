"""Traces on disk, one prompt at a time, so that an interrupted measurement resumes."""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from estimator.traces.traces import Trace
from estimator.writing import write_whole


def save_traces(path: Path, traces: Mapping[int, Trace], key: str) -> None:
    """Writes the traces of the prompts finished so far.

    Args:
      path: an .npz file.
      traces: by the prompt's index.
      key: identifies models, settings and prompts.
    """
    arrays: dict[str, np.ndarray] = {"key": np.array(key)}
    for prompt, trace in traces.items():
        arrays[f"beta_{prompt}"] = trace.beta
        arrays[f"acceptance_{prompt}"] = trace.acceptance
        arrays[f"limit_{prompt}"] = np.array(trace.limit)
        if trace.drafted is not None:
            arrays[f"drafted_{prompt}"] = trace.drafted
        for lenience, value in trace.alpha_by_lenience.items():
            arrays[f"lenience_{prompt}_{lenience}"] = np.array(value)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)   # type: ignore[arg-type]
    write_whole(path, buffer.getvalue())


def load_traces(path: Path, key: str) -> dict[int, Trace]:
    """Returns the traces of an earlier run with the same key, by prompt; none if there is none.

    A file of another key, or a damaged one, belongs to another measurement and is not used.
    """
    if not path.exists():
        return {}
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            if str(file["key"]) != key:
                return {}
            prompts = [int(name[5:]) for name in file.files if name.startswith("beta_")]
            return {
                prompt: Trace(
                    beta=file[f"beta_{prompt}"],
                    acceptance=file[f"acceptance_{prompt}"],
                    drafted=file.get(f"drafted_{prompt}"),
                    limit=int(file[f"limit_{prompt}"]),
                    alpha_by_lenience={
                        float(name.rpartition("_")[2]): float(file[name])
                        for name in file.files
                        if name.startswith(f"lenience_{prompt}_")
                    },
                )
                for prompt in prompts
            }
    except (zipfile.BadZipFile, ValueError, KeyError, EOFError):
        return {}
