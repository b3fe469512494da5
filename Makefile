PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt
# Each stamp says what the environment holds: all that running needs, the tools of
# development, what builds the documentation.
PYTHON_ALONE := $(VENV)/.python
WHEELS := $(VENV)/.wheels
PACKAGE := $(VENV)/.package
TOOLS := $(VENV)/.tools
SITE := $(VENV)/.site
# What rests on the libraries' arithmetic and is fast: tested once more as on other processors.
# Over half of the simulator's time is 810 fits whose limits are far from any last bit. Refusals and
# the catalogue of GPUs rest on no library, and simulated servers count in Python's own numbers.
NUMERIC := tests/simulator tests/ngram/rows tests/ngram/training \
	tests/reference/test_laws.py tests/reference/test_verify.py \
	--ignore=tests/simulator/choice/test_regret.py \
	--deselect=tests/simulator/cost/test_posterior.py::test_ninety_percent_intervals_hold_on_simulated_deployments \
	--ignore=tests/simulator/test_bad_input.py --ignore=tests/simulator/cost/test_hardware.py \
	--ignore=tests/simulator/traffic/test_fleet.py --ignore=tests/simulator/traffic/test_spread.py \
	--ignore=tests/simulator/traffic/test_trace.py

# Each worker, player and program that tests start would compile all anew.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test lint suite kernels docs clean

demo: $(PACKAGE)
	$(BIN)/specplan validate --gamma 1,4,8 --num-prompts 8 --max-new-tokens 24 --temperature 0 --repeats 2 \
		--time-limit 60

# Two at a time: what runs on one core leaves the others to what waits for them.
test:
	$(MAKE) --jobs=2 lint suite kernels

lint: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/python scripts/house.py
	$(BIN)/python scripts/words.py
	$(BIN)/mypy

suite: $(TOOLS)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal

kernels: $(TOOLS)
	$(BIN)/python scripts/kernels.py $(NUMERIC)

$(PYTHON_ALONE):
	$(PYTHON) -m venv $(VENV)
	touch $@

# Python compiles what is imported, and keeps it: compiling all of torch ahead takes as long as
# unpacking it. N-gram drafters come with `make test`, since kenlm compiles for a minute, which it
# does while torch is unpacked.
$(PACKAGE): $(PYTHON_ALONE) pyproject.toml constraints.txt
	$(INSTALL) --editable '.[models]'
	touch $@

$(WHEELS): $(PYTHON_ALONE) constraints.txt
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir $@ "$$(grep '^kenlm==' constraints.txt)"
	touch $@

$(TOOLS): $(PACKAGE) $(WHEELS)
	$(INSTALL) --find-links $(WHEELS) --editable '.[dev]'
	-$(BIN)/python -m pip install --quiet --no-deps --target $(VENV)/kernels 'aiconfigurator-core==0.12.0'
	touch $@

docs: $(SITE)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

$(SITE): $(PACKAGE)
	$(INSTALL) --editable '.[docs]'
	touch $@

clean:
	rm -rf $(VENV)
