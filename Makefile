# `make demo` and `make test` need Python 3.11 or newer (with venv) and make; they set up the rest inside this checkout.
SHELL := /bin/sh
PYTHON := .venv/bin/python
UV := $(PYTHON) -m uv
COMPILE := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate

# Downloads and scratch data stay inside the checkout.
export TMPDIR := $(CURDIR)/.cache/tmp
export PIP_CACHE_DIR := $(CURDIR)/.cache/pip
export UV_CACHE_DIR := $(CURDIR)/.cache/uv
export UV_PYTHON_DOWNLOADS := never
# The user's own environments and settings stay outside.
unexport PYTHONPATH PYTHONHOME PYTHONSTARTUP VIRTUAL_ENV CONDA_PREFIX
unexport PIP_CONSTRAINT PIP_PREFIX PIP_REQUIRE_VIRTUALENV PIP_ROOT PIP_TARGET
unexport UV_CONSTRAINT UV_OVERRIDE UV_PROJECT_ENVIRONMENT UV_PYTHON UV_SYSTEM_PYTHON
export PIP_USER := 0
export PYTHONNOUSERSITE := 1
# Every suite starts many processes; without compiled modules each takes three times as long.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test campaigns campaign bench check setup constraints schemas settings clean

help: ## list the commands
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1|\2/p' Makefile | awk -F'|' '{ printf "%-17s %s\n", $$1, $$2 }'

demo: setup ## run FAN-7 and retail conversations through the three processes on real servers
	@$(PYTHON) -m examples.demo

test: setup ## run every test
	@$(PYTHON) -m pytest -p tests.suite_seconds -n 2 --dist loadscope --no-loadscope-reorder

campaigns: setup ## run every fault campaign at full counts, under 30 minutes; SEED=… runs the same again
	@$(PYTHON) -m tests.campaigns $(if $(SEED),--seed $(SEED))

campaign: setup ## run one fault campaign; NAME=… SEED=… COUNT=…, without NAME it lists them
	@$(PYTHON) -m tests.campaigns $(if $(NAME),$(NAME),--list) $(if $(SEED),--seed $(SEED)) $(if $(COUNT),--count $(COUNT))

bench: setup ## measure, on an otherwise quiet machine; QUICK=1 measures little
	@$(PYTHON) -m benchmarks $(if $(QUICK),--quick)

check: setup ## lint, formatting, types and layers only
	@$(PYTHON) -m pytest -q tests/static/test_code.py

setup: ## build .venv, or return at once when it is up to date
	@mkdir -p .cache/tmp
	@sh scripts/setup.sh

constraints: setup ## resolve the pins again; those that still fit stay
	$(COMPILE) --all-extras --group dev --group build --no-emit-package intention-kernel --no-emit-package turn-runner \
		--no-emit-package outbox-relay --no-emit-package receipt-reconciler pyproject.toml -o constraints.txt
	echo uv | $(COMPILE) - -o constraints-uv.txt

schemas: setup ## generate schemas/ again
	@$(PYTHON) -m intention_kernel.contracts.schemas
	@$(PYTHON) -m receipt_reconciler.asyncapi
	@$(PYTHON) -m receipt_reconciler.web.api.application

settings: setup ## generate docs/settings.md again
	@$(PYTHON) scripts/document_settings.py

clean: ## remove the environment, the downloads and the tools' caches; data in .intention stays
	rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
