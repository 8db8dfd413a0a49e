# Every target sets up what it needs; `make help` lists them.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
# What development needs; dev-full has torch and onnxruntime too, for the tests of trainers.
DEV ?= dev
STAMP = $(VENV)/.installed-$(DEV)
NATIVE = $(wildcard native/*) CMakeLists.txt

.PHONY: help setup packs demo default-model test test-numpy test-no-compiler test-integrations browser lint docs coverage dist format bench bench-baselines bench-eval bench-serve golden outputs tables fuzz fuzz-serve sanitize clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

setup: $(STAMP)  ## create .venv and install pmeans and its laboratory, with all that development needs
$(STAMP): pyproject.toml lab/pyproject.toml constraints.txt $(NATIVE)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[$(DEV)]' --editable ./lab
	touch $@

PACKS = $(dir $(wildcard packages/*/pyproject.toml))

packs: setup  ## build the model packs in packages/, and install them as well
	rm -rf build/packs
	$(if $(PACKS),$(BIN)/pip wheel --quiet --disable-pip-version-check --no-index --no-build-isolation --no-deps \
	  --wheel-dir build/packs $(addprefix ./,$(PACKS)))
	$(if $(PACKS),$(BIN)/pip install --quiet --disable-pip-version-check --no-index --no-deps --force-reinstall build/packs/*.whl)

demo: setup  ## train on English sentences, apply to German and French ones, write demo/report.html
	$(BIN)/python -m demo

PMEANS_DATA ?= ../shared/data

default-model: setup  ## build the model in the package, and its spaces first, from $PMEANS_DATA
	$(BIN)/pmeans build recipes/default.toml --out src/pmeans/default_model --data $(PMEANS_DATA)

# As many at a time as there are cores.
TEST = -m pytest -n auto -m "not integrations"

test: setup  ## run all tests but those of other programs
	$(BIN)/python $(TEST)

coverage: setup  ## run the tests, and say which share of the lines of src/ they reach
	$(BIN)/python $(TEST) --cov=pmeans --cov-report=term-missing:skip-covered

test-numpy: setup  ## run all tests on the NumPy kernels, as without a compiler
	PMEANS_KERNELS=numpy $(BIN)/python $(TEST)

test-no-compiler:  ## install as on a machine without a compiler, and run the unit tests there
	rm -rf .venv-pure && $(PYTHON) -m venv .venv-pure
	rm -rf build/no-compiler
	CC=/bin/false CXX=/bin/false .venv-pure/bin/pip install --quiet --disable-pip-version-check \
	  --constraint constraints.txt --config-settings=build-dir=build/no-compiler '.[dev]'
	.venv-pure/bin/python -W ignore -c "import pmeans.kernels as k; assert k.backend() == 'numpy', k.backend()"
	.venv-pure/bin/python $(TEST) tests/unit

browser:  ## install Chromium, which tests the page, where there is none and root has apt-get
	@command -v chromium || command -v chromium-browser || ! command -v apt-get || test "$$(id -u)" != 0 || \
	  { apt-get update -qq && apt-get install -y -qq chromium; }

test-integrations: setup browser  ## test the server as a process, and libraries of the extra [integrations]
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[$(DEV),docs,integrations]'
	$(BIN)/python -m pytest -n auto --dist loadfile -m integrations

lint: setup  ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32 src/pmeans/files.py
	$(BIN)/lint-imports

docs: setup  ## build the documentation site into build/site
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,docs]'
	$(BIN)/mkdocs build --strict

dist: setup  ## build sdist and wheels into dist/, and try each (PYTHONS: which; all from 3.11 to 3.13)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,release]'
	$(BIN)/python tools/dist.py $(PYTHONS)

format: setup  ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv-bench/.installed .venv-bench-fse  ## measure against other libraries (10 minutes; BENCH=--quick: 1)
	.venv-bench/bin/python benchmarks/run.py $(BENCH)

# torch first, and exactly this version: others bring gigabytes. Not editable, as users have it.
.venv-bench/.installed: pyproject.toml constraints.txt $(NATIVE) $(shell find src -name '*.py')
	test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	.venv-bench/bin/pip install --quiet --disable-pip-version-check --constraint constraints.txt torch==2.13.0
	.venv-bench/bin/pip install --quiet --disable-pip-version-check --constraint constraints.txt '.[bench]' ./lab
	touch $@

.venv-bench-fse:
	-sh benchmarks/install_fse.sh $@

bench-baselines: .venv-bench/.installed  ## measure baselines beside power means (6 minutes, needs the data and trained models; BENCH=--quick: 2)
	.venv-bench/bin/python benchmarks/baselines.py $(BENCH)

bench-eval: setup  ## measure the training of classifiers against plain torch (10 minutes, needs the data)
	PYTHONPATH=tests $(BIN)/python benchmarks/evaluation.py --complete --json benchmarks/evaluation.json > benchmarks/evaluation.md.new
	mv benchmarks/evaluation.md.new benchmarks/evaluation.md

bench-serve: .venv-bench/.installed  ## measure the server under load (7 minutes, needs wrk and the data)
	.venv-bench/bin/python benchmarks/serve.py

golden: setup  ## write the kept numbers of tests/golden/model again, after a change that moves them
	$(BIN)/python tests/golden/test_model.py

outputs: setup  ## write what snippets print, and numbers of results, into README and docs (PAGES: which)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[$(DEV),docs,integrations]'
	$(BIN)/python lab/tests/golden/test_docs_tables.py
	$(BIN)/python tests/integration/test_notebook.py
	PYTHONPATH=tests $(BIN)/python tests/integration/test_docs.py $(PAGES)

tables: setup  ## render tables and figures of all results again
	cd lab && for rows in results/*/rows.json; do name=$$(basename $$(dirname $$rows)); \
	  ../$(BIN)/pmeans eval table experiments/$$name.toml --output results/$$name/table.md || exit 1; \
	done
	cd lab && ../$(BIN)/pmeans eval plot experiments/paper-figure1.toml --output results/paper-figure1/figure.svg
	cd lab && ../$(BIN)/pmeans eval plot experiments/languages-ntrex.toml --output results/languages/ntrex.svg
	cd lab && ../$(BIN)/python studies/maps.py table
	cd lab && ../$(BIN)/python studies/train_spaces.py results/spaces/costs.jsonl
	cd lab && ../$(BIN)/python studies/peers.py --render
	cd lab && ../$(BIN)/python studies/names_and_numbers.py --render
	cd lab && ../$(BIN)/python studies/claims.py
	$(BIN)/python benchmarks/baselines.py --render

FUZZ = $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY))

fuzz: setup  ## throw N (a million) malformed inputs at readers, stores, recipes and the look-up
	PYTHONPATH=tests $(BIN)/python -m fuzz $(N) $(FUZZ)

fuzz-serve: setup  ## throw N (100,000) malformed requests at the server, and some of schemathesis, if it is there
	PYTHONPATH=tests $(BIN)/python -m fuzz $(or $(N),100000) --serve $(FUZZ)
	$(if $(ONLY),,PMEANS_EXAMPLES=150 $(BIN)/python -m pytest -n 0 -m integrations tests/integration/test_schema.py)

# The two libraries come first, or the sanitizer sees neither Python's memory nor C++ exceptions.
SANITIZED = LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc .venv-sanitize/bin/python

# A build folder of its own: the setting would otherwise stay in the ordinary one.
sanitize:  ## run tests and some fuzzing on a native core with AddressSanitizer and UBSan
	test -x .venv-sanitize/bin/python || $(PYTHON) -m venv .venv-sanitize
	.venv-sanitize/bin/pip install --quiet --disable-pip-version-check --constraint constraints.txt \
	  --config-settings=cmake.define.PMEANS_SANITIZE=ON --config-settings=build-dir=build/sanitize \
	  --config-settings=cmake.build-type=RelWithDebInfo '.[dev]'
	$(SANITIZED) -c "import pmeans._native as n; assert b'__asan_' in open(n.__file__, 'rb').read()"
	$(SANITIZED) -m pytest --capture=sys tests/unit tests/property
	PYTHONPATH=tests $(SANITIZED) -m fuzz $(or $(N),20000)

clean:  ## remove what the other targets made
	rm -rf $(VENV) .venv-* build dist demo/report.html
