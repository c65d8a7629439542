# For people who expect a Makefile; meson and ninja do the work. Unlike ./run and ./test it installs no packages.
PREFIX ?= /usr/local
build = $(or $(RINGWALL_BUILD),build)
all:; @tools/prepare
test: all; @tests/run-suites
test-quick: all; @tests/run-suites quick
test-long: all; @tests/run-suites all
test-vm: all; @tests/run-suites vm
test-mcp: all; @tests/run-suites mcp
bench: all; @meson test -C "$(build)" --benchmark --verbose
install: all
	@meson configure "$(build)" -Dprefix="$(PREFIX)" && tools/prepare && meson install -C "$(build)" --no-rebuild
.PHONY: all test test-quick test-long test-vm test-mcp bench install
