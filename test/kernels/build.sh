#!/usr/bin/env bash
# Makes everything here but the sources: PTX for each SM, launch files, their data, README.md.
#   test/kernels/build.sh [KERNEL...]      needs nvcc 13, ptxas and g++; without arguments: all kernels
# The outputs depend on the sources and on the compilers' versions only.
set -euo pipefail
cd "$(dirname "$0")"
sms=(sm_75 sm_80 sm_90)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
echo '#include <cuda_bf16.h>' > "$scratch/where.cu"
headers=$(dirname "$(nvcc -M "$scratch/where.cu" | grep -o '[^ ]*/cuda_bf16\.h' | sed 1q)")

build() {
  local name=$1 needs module sm
  needs=$(sed -n '1,5s,^// needs \(sm_[0-9]*\).*,\1,p' "$name/$name.cu")
  rm -f "$name"/*.ptx "$name"/*.bin "$name"/launch*.yaml
  for sm in "${sms[@]}"; do
    if [ -n "$needs" ] && [ "${sm#sm_}" -lt "${needs#sm_}" ]; then continue; fi
    # -fmad=false: a fused operation is one the source asks for, so that host and device compute the same.
    (cd "$name" && nvcc -ptx -arch="$sm" -std=c++17 -O3 -fmad=false -lineinfo "$name.cu" -o "$name.$sm.ptx")
    # The line table names files by absolute path; only the file's own name and "support/..." stay.
    sed -i -E 's,^([[:space:]]*\.file[[:space:]]+[0-9]+ )"[^"]*/([^/"]+)".*,\1"\2",' "$name/$name.$sm.ptx"
    # Names with internal linkage in the debug strings hold a hash of the source's absolute path: eight digits after
    # "_INTERNAL_", spelled as bytes. They become zeros.
    sed -i -E 's/(95,73,78,84,69,82,78,65,76,95)(,[0-9]+){8},95/\1,48,48,48,48,48,48,48,48,95/g' "$name/$name.$sm.ptx"
    if grep -n '"/\|/tmp' "$name/$name.$sm.ptx" >&2; then echo "$name: an absolute path in the PTX" >&2; exit 1; fi
    ptxas -arch="$sm" "$name/$name.$sm.ptx" -o "$scratch/cubin"
  done
  module=$name.sm_80.ptx
  [ -f "$name/$module" ] || module=$name.sm_90.ptx
  g++ -x c++ -DHOST -std=c++17 -O1 -ffp-contract=off -frounding-math -fwrapv -fno-strict-aliasing -w \
    -I"$headers" "$name/$name.cu" -o "$scratch/$name"
  "$scratch/$name" "$name" "$module" "$needs"
  echo "$name: $(ls "$name" | wc -l) files"
}

readme() {
  echo '# Test kernels'
  echo
  echo 'CUDA C++ kernels written for this project, compiled by nvcc 13 (`build.sh`). The expected outputs are those of the same'
  echo 'sources, compiled by g++ and run thread by thread on the host (`support/host.h`), some also held against published'
  echo 'vectors or closed forms. Every folder has the source, one PTX file for each SM, and its `launch*.yaml` with data.'
  echo 'Made by `build.sh`; do not edit.'
  echo
  echo '| kernel | topic | SMs | entries | launches | PTX instructions (newest SM) |'
  echo '|---|---|---|---|---|---|'
  local d name topic
  for d in */; do
    name=${d%/}
    [ -f "$name/launch.yaml" ] || [ -f "$name/launch-1.yaml" ] || continue
    topic=$(sed -n '1s,^// ,,p' "$name/$name.cu")
    echo "| $name | $topic | $(cd "$name" && ls *.ptx | sed -E 's/.*\.(sm_[0-9]+)\.ptx/\1/' | paste -sd' ') |" \
      "$(grep -c '^\.visible \.entry\|^\.entry' "$name/$name.sm_90.ptx") | $(ls "$name"/launch*.yaml | wc -l) |" \
      "$(grep -cE '^[[:space:]]+(@!?%p[0-9]+ )?[{[:space:]]*[a-z][a-z0-9]*(\.[a-z0-9:_]+)*([[:space:]]+[^:]*)?;' "$name/$name.sm_90.ptx") |"
  done
}

if [ $# -gt 0 ]; then
  for name in "$@"; do build "${name%/}"; done
else
  for d in */; do
    if [ -f "$d${d%/}.cu" ]; then build "${d%/}"; fi
  done
fi
readme > README.md
