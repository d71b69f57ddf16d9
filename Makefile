# One way in. A fresh machine needs two of these: `make run` and `make test`.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup run test test-fast check format bench soak lock clean

setup: ## the program, its development tools and the models that the tests use
	@scripts/setup --dev

run: ## set up and serve the embedded voice agent on http://127.0.0.1:8080
	@scripts/setup --run
	@exec $(BIN)/rth serve $(ARGS)

test: setup ## everything: fast, real models, loopback sockets, the browser
	$(BIN)/python -m pytest -m "not large" $(ARGS)

test-fast: setup ## no sockets, no models, virtual clock
	$(BIN)/python -m pytest -m "not real and not large" --disable-socket --allow-unix-socket $(ARGS)

check: setup ## format, lint, types, imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports --no-cache

format:
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup ## prints the figures that the README quotes
	$(BIN)/python -m bench $(ARGS)

soak: setup ## long runs: memory, tasks, sockets; and what needs the larger mind
	$(BIN)/python -m bench.soak $(ARGS)
	$(BIN)/rth models fetch qwen2.5-coder-1.5b-instruct-q4_k_m
	$(BIN)/python -m pytest -m large

lock: ## writes the lock files again, from pyproject.toml
	scripts/lock

clean:
	rm -rf .venv
