#!/usr/bin/env bash
# Makes the cubins and fat binaries here. Needs nvcc 13 and a compiler for the host.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for sm in sm_75 sm_80 sm_90a sm_120; do
  nvcc -ptx -arch="$sm" -O3 -lineinfo scale.cu -o "$work/scale.ptx"
  # The folder of the sources says nothing.
  sed -i "s|\"$PWD/|\"|" "$work/scale.ptx"
  (cd "$work" && ptxas -arch="$sm" -O3 -lineinfo scale.ptx -o scale.cubin)
  mv "$work/scale.cubin" "scale.$sm.cubin"
done
# The default packs PTX alone, with zstd; older toolkits pack with LZ4.
nvcc -fatbin -gencode arch=compute_80,code=[sm_80,compute_80] -gencode arch=compute_90,code=sm_90 \
  --compress-mode=size scale.cu -o scale.zstd.fatbin
nvcc -fatbin -gencode arch=compute_80,code=compute_80 --compress-mode=speed scale.cu -o scale.lz4.fatbin
