#!/usr/bin/env bash
# Compares base and head. Writes the comment to a file and the annotations to standard output; never fails for what it finds:
# the verdict is the last step's, so that the comment is written first.
#
# BASE, HEAD: commits. KERNELS, OPTIONS, ACCEPT: words, one a line. FAIL_ON: a word. ACTION: this folder, in a clone of Orrery.
set -euo pipefail
# Nor does a replacement of git show another commit than the one that is asked for.
export GIT_NO_REPLACE_OBJECTS=1
orrery=$(cd "$ACTION/../../.." && pwd)
work=$(mktemp -d "${RUNNER_TEMP:-/tmp}/orrery-review.XXXXXX")

finish() {
  cat "$work/comment.md" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
  printf 'result=%s\ncomment=%s\n' "$1" "$work/comment.md" >>"$GITHUB_OUTPUT"
  exit 0
}
# Runs a command with its standard output in $1. Its messages are kept, and appear as they come: a review takes minutes. They may quote
# files of the change: the runner takes no line of them for a command.
telling() {
  local stop code=0
  stop=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  echo "::stop-commands::$stop"
  "${@:2}" 2>&1 >"$1" | tee "$work/errors" || code=${PIPESTATUS[0]}
  echo "::$stop::"
  return "$code"
}
# Annotations, and nothing else that the runner would obey.
annotate() { grep -E '^::(error|warning|notice) ' "$work/annotations" || true; }
# An error without a result: the comment says it too, as lines that are indented, which nothing in them ends.
give_up() {
  { echo '**the review could not be made**'; echo; sed -e 's/^/    /' "$work/errors"; } >"$work/comment.md"
  if [ -s "$work/annotations" ]; then
    annotate
  else
    text=$(sed -e 's/%/%25/g' -e 's/\r/%0D/g' "$work/errors" | awk '{ printf "%s%s", (NR > 1 ? "%0A" : ""), $0 }')
    echo "::error title=no review::$text"
  fi
  finish failed
}

# A commit as twelve digits, where these name no other: a branch or a tag that is called so would take its place.
short() {
  local whole some
  whole=$(git rev-parse --verify --end-of-options "$1^{commit}") || return
  some=$(git rev-parse --short=12 "$whole")
  [ "$(git rev-parse --verify --quiet "$some^{commit}")" = "$whole" ] && echo "$some" || echo "$whole"
}
# What the base got since the branch left it is none of the branch's doing.
if ! { from=$(short "$(git merge-base "$BASE" "$HEAD")") && to=$(short "$HEAD"); } 2>"$work/errors"; then
  echo "$BASE and $HEAD have no common commit here; check out with fetch-depth: 0" >>"$work/errors"
  give_up
fi
telling /dev/null node "$orrery/bin/ensure.mjs" || give_up

words=()
while IFS= read -r word; do [ -z "$word" ] || words+=("$word"); done <<<"$OPTIONS"
kernels=()
while IFS= read -r word; do [ -z "$word" ] || kernels+=("$word"); done <<<"$KERNELS"
while IFS= read -r rule; do [ -z "$rule" ] || words+=(--accept "$rule"); done <<<"${ACCEPT:-}"
[ -z "${FAIL_ON:-}" ] || words+=(--fail-on "$FAIL_ON")
[ ${#kernels[@]} -eq 0 ] || words+=(--kernels "${kernels[@]}")

code=0
telling "$work/annotations" node "$orrery/bin/orrery.js" diff "$from" "$to" --format markdown --annotations -o "$work/comment.md" \
  ${words[@]+"${words[@]}"} || code=$?
[ -s "$work/comment.md" ] || give_up
annotate
# Errors among the annotations are what must not be merged; a rule that is not proved is no error of the command.
if [ "$code" -eq 0 ]; then finish same; fi
if [ "$code" -eq 2 ] && ! grep -q '^::error ' "$work/annotations"; then finish differs; fi
finish failed
