#!/usr/bin/env bash
# Makes the cubins here: machine code of test kernels, and of the kernels here that ptxas 13.0.88 gets wrong. Needs nvcc and
# ptxas 13.0.
set -euo pipefail
cd "$(dirname "$0")"
make_cubin() { # PTX target level
  ptxas -arch="$2" -O"$3" "$1" -o "$(basename "$1" | cut -d. -f1).$2.O$3.cubin"
}
nvcc -ptx -arch=sm_80 uneven-fusion.cu -o uneven-fusion.ptx
make_cubin uneven-fusion.ptx sm_80 3
nvcc -ptx -arch=sm_90 peak-of-absolutes.cu -o peak-of-absolutes.ptx
make_cubin peak-of-absolutes.ptx sm_90 3
nvcc -ptx -arch=sm_75 driver-functions.cu -o driver-functions.ptx
for at in "sm_75 3" "sm_80 3" "sm_80 0" "sm_90 3" "sm_100 3"; do make_cubin driver-functions.ptx $at; done
make_cubin max-of-absolute.ptx sm_90 3
make_cubin max-of-absolute.ptx sm_90 0
make_cubin shift-difference.ptx sm_80 3
make_cubin narrow-shift.ptx sm_80 0
make_cubin guarded-set.ptx sm_90 0
make_cubin unusual-conversions.ptx sm_90 3
make_cubin unusual-conversions.ptx sm_100 3
make_cubin unusual-conversions.ptx sm_120 3
make_cubin arrivals.ptx sm_80 3
make_cubin arrivals.ptx sm_90 3
make_cubin parted-lanes.ptx sm_75 3
make_cubin half-constants.ptx sm_90 3
make_cubin wide-rows.ptx sm_80 3
make_cubin matrices.ptx sm_80 3
make_cubin matrices.ptx sm_90 3
make_cubin matrices-ada.ptx sm_89 3
make_cubin matrices-hopper.ptx sm_90 3
make_cubin warpgroup.ptx sm_90a 3
kernel() { # name, sm of its PTX, target, level
  grep -vE '^[[:space:]]*\.(loc|file)[[:space:]]' "../kernels/$1/$1.$2.ptx" |
    sed '/^[[:space:]]*\.section[[:space:]]*\.debug/,/^}/d' > "/tmp/$1.ptx"
  make_cubin "/tmp/$1.ptx" "$3" "$4"
  rm "/tmp/$1.ptx"
}
kernel carry-chain sm_80 sm_80 3
kernel warp-redux sm_80 sm_80 3
kernel function-pointers sm_80 sm_80 3
kernel divmod sm_90 sm_90 3
kernel jump-table sm_90 sm_90 0
kernel atomics-int sm_75 sm_75 3
kernel double-math sm_90 sm_100 3
kernel half2-math sm_90 sm_120 3
kernel reduce-shared sm_90 sm_90 3
