#!/usr/bin/env bash
# Makes the PTX that `measured` of recipes names and that is no test kernel. Needs nvcc 13.
set -euo pipefail
cd "$(dirname "$0")"
nvcc -ptx -arch=sm_80 -std=c++17 -O3 shared-flags.cu -o shared-flags.sm_80.ptx
