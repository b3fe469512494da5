#!/usr/bin/env bash
# Installs specplan without PyTorch into a new environment, by the lines of docs/install.md, and runs
# every command that needs no model there. Ends with status 1 if one fails.
#
#     [PYTHON=python3.13] scripts/light_installation.sh FOLDER
set -euo pipefail
folder=$(realpath -m "${1:?a folder for the environment}")
root=$(realpath "$(dirname "$0")/..")
unset PYTHONPATH
"${PYTHON:-python3}" -m venv "$folder"
cd "$root"
sed -n '/^## Without PyTorch/,/^## PyTorch/s/^    pip //p' docs/install.md | while read -r words; do
    # shellcheck disable=SC2086
    "$folder/bin/python" -m pip --quiet --disable-pip-version-check $words
done
du -sh "$folder"
cd "$folder"
pair="--alpha 0.7 --gpu h100 --target-config $root/docs/configs/llama-3.1-8b.json
    --draft-config $root/docs/configs/llama-3.1-8b-eagle3.json"
printf 'vllm:spec_decode_num_drafts_total 100\nvllm:spec_decode_num_draft_tokens_total 200\n' > page.txt
printf 'vllm:spec_decode_num_accepted_tokens_total 110\n' >> page.txt
for position in 0 1; do
    printf 'vllm:spec_decode_num_accepted_tokens_per_pos_total{position="%s"} 55\n' $position >> page.txt
done
while read -r words; do
    # shellcheck disable=SC2086
    bin/specplan $words > out.txt || { echo "failed: specplan $words"; exit 1; }
    echo "ran: specplan ${words:0:60}"
done <<TEXT
plan --alpha 0.8 --c 0.05
plan --run gamma=0,tpot=7.1 --run gamma=3,tpot=4.1,length=2.85
plan $(echo $pair) --batch 1,16 --export vllm
plan --profile $root/docs/examples/embedded.json
observe page.txt --c 0.05 -o observed.json
plan --alpha 0.7 --gpu h200 --tp 8 --target-config $root/docs/configs/deepseek-v3.json --draft-config $root/docs/configs/deepseek-v3.json
traffic $(echo $pair) --rate 1 --prompt-tokens 500 --output-tokens 100
tree --acceptance-by-rank 0.7,0.12 --c 0.05 --max-nodes 8
report $root/docs/examples/embedded.json -o report.html
figures leviathan-fig3 leviathan-table1 -o drawn
TEXT
