#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install_pages.sh PROGRAM PREFIX: writes the manual pages and the completions that PROGRAM prints
# below PREFIX.
set -eu
program=$1
prefix=$2
man=$prefix/share/man/man1
mkdir -p "$man" "$prefix/share/bash-completion/completions" "$prefix/share/zsh/vendor-completions" \
  "$prefix/share/fish/vendor_completions.d"
"$program" help --man | gzip -9n >"$man/tracecore.1.gz"
"$program" help | sed -n '/^Commands:$/,/^$/s/^  \([a-z]*\) .*/\1/p' | while read -r command; do
  "$program" help --man "$command" | gzip -9n >"$man/tracecore-$command.1.gz"
done
"$program" completion bash >"$prefix/share/bash-completion/completions/tracecore"
"$program" completion zsh >"$prefix/share/zsh/vendor-completions/_tracecore"
"$program" completion fish >"$prefix/share/fish/vendor_completions.d/tracecore.fish"
