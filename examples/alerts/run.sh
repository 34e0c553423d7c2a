#!/bin/bash
# Takes documents from publishers to mailboxes: six publishers, twenty XPath subscriptions, one
# keyword subscription, and two documents that are refused.
# Usage: run.sh WORKSPACE; replaces the workspace of an earlier run.
set -euo pipefail
PENSTOCK_WORKSPACE=$(realpath -m "$1")
export PENSTOCK_WORKSPACE
cd "$(dirname "$0")/documents"

step() {
    local shown='' word
    for word; do
        case $word in *' '*) shown+=" '$word'" ;; *) shown+=" $word" ;; esac
    done
    printf '\n$ penstock%s\n' "$shown"
    penstock "$@"
}

if [ -e "$PENSTOCK_WORKSPACE/penstock.sqlite" ]; then rm -r "$PENSTOCK_WORKSPACE"; fi
step init "$PENSTOCK_WORKSPACE"
step subscriptions import ../subscriptions.txt
step subscribe coastguard --keywords 'storm surge tide'
step publish --publisher rivers 01-flood-warning.xml 07-flood-cancel.xml
step publish --publisher seismology 02-earthquake.xml 03-earthquake-small.xml
step publish --publisher weather 04-storm-update.xml 11-cut-off.xml
step publish --publisher civil-protection 05-siren-exercise.xml 06-wildfire-envelope.xml
step publish --publisher newsroom 08-news-flood.xml 09-news-markets.xml
step publish --publisher harbour 10-tide-table.xml 12-external-entity.xml
step run
step mailbox act-now
step mailbox coastguard
step dead-letters list
step status
