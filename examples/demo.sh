#!/usr/bin/env bash
# The main job on bundled data: inspect, compare with a gain matrix, write a report, save a model.
set -euo pipefail
run() { printf '\n$ countwise %s\n\n' "$*"; "${COUNTWISE:-countwise}" "$@"; }
mkdir -p demo
run inspect sample:credit-g
run compare sample:credit-g --gain sample --report demo/credit-g.html
run fit sample:credit-g --gain sample --model best -o demo/credit-g.cw
run explain demo/credit-g.cw sample:credit-g --row 2
printf '\nThe report is in demo/credit-g.html\n'
