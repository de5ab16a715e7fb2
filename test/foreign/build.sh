#!/usr/bin/env bash
# Makes the PTX of the kernels here. Needs nvcc 13.
set -euo pipefail
cd "$(dirname "$0")"
for module in tensor-tile:sm_80 texture-filter:sm_80 bulk-copy:sm_90 warpgroup-steps:sm_90a; do
  name=${module%:*} sm=${module#*:}
  nvcc -ptx -arch="$sm" -std=c++17 -O3 "$name.cu" -o "$name.$sm.ptx"
done
