#!/usr/bin/env bash
# Compares base and head. Writes the comment to a file and the annotations to standard output; never fails for what it finds:
# the verdict is the last step's, so that the comment is written first.
#
# BASE, HEAD: commits. KERNELS, OPTIONS: words, one a line. ACTION: this folder, in a clone of Orrery.
set -euo pipefail
orrery=$(cd "$ACTION/../../.." && pwd)
work=$(mktemp -d "${RUNNER_TEMP:-/tmp}/orrery-review.XXXXXX")

finish() {
  cat "$work/comment.md" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
  printf 'result=%s\ncomment=%s\n' "$1" "$work/comment.md" >>"$GITHUB_OUTPUT"
  exit 0
}
# An error without a result: the comment says it too.
give_up() {
  { echo '**the review could not be made**'; echo; echo '```'; cat "$work/errors"; echo '```'; } >"$work/comment.md"
  if [ -s "$work/annotations" ]; then
    cat "$work/annotations"
  else
    text=$(sed -e 's/%/%25/g' "$work/errors" | awk '{ printf "%s%s", (NR > 1 ? "%0A" : ""), $0 }')
    echo "::error title=no review::$text"
  fi
  finish failed
}

# What the base got since the branch left it is none of the branch's doing.
if ! { from=$(git rev-parse --short=12 "$(git merge-base "$BASE" "$HEAD")") && to=$(git rev-parse --short=12 "$HEAD"); } \
  2>"$work/errors"; then
  echo "$BASE and $HEAD have no common commit here; check out with fetch-depth: 0" >>"$work/errors"
  give_up
fi
node "$orrery/bin/ensure.mjs" 2>"$work/errors" || give_up

words=()
while IFS= read -r word; do [ -z "$word" ] || words+=("$word"); done <<<"$OPTIONS"
kernels=()
while IFS= read -r word; do [ -z "$word" ] || kernels+=("$word"); done <<<"$KERNELS"
[ ${#kernels[@]} -eq 0 ] || words+=(--kernels "${kernels[@]}")

code=0
node "$orrery/bin/orrery.js" diff "$from" "$to" --format markdown --annotations -o "$work/comment.md" ${words[@]+"${words[@]}"} \
  >"$work/annotations" 2>"$work/errors" || code=$?
[ -s "$work/comment.md" ] || give_up
cat "$work/annotations"
cat "$work/errors" >&2
# Errors among the annotations are what must not be merged; a rule that is not proved is no error of the command.
if [ "$code" -eq 0 ]; then finish same; fi
if [ "$code" -eq 2 ] && ! grep -q '^::error ' "$work/annotations"; then finish differs; fi
finish failed
