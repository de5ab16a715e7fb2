// Runs CUDA kernel sources on the host: the source of every expected output.
//
// A block's threads are fibers (ucontext) that run until they wait: at a barrier, at a warp primitive, or at WAITING().
// Warp primitives are a rendezvous of the lanes named by the mask. Blocks run one after another.
// Nothing here knows PTX or this project's own simulator.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <ucontext.h>
#include <vector_functions.h>

#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#undef __shared__
#define __shared__ static
#undef __constant__
#define __constant__
#undef __noinline__
#define __noinline__ __attribute__((noinline))
#undef __launch_bounds__
#define __launch_bounds__(...)
#define DYNAMIC_SHARED(T, name) T *name = reinterpret_cast<T *>(fiber::dynamicShared)
#define WAITING() fiber::yield()
#define warpSize 32

inline uint3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;

// ---------------------------------------------------------------------------------------------------------------- fibers
namespace fiber {

struct Thread {
  ucontext_t context;
  std::vector<char> stack;
  uint3 index;
  unsigned linear;
  bool done = false;
};

struct Rendezvous {
  unsigned arrived = 0, generation = 0;
  uint64_t incoming[32], agreed[32];
};

inline ucontext_t scheduler;
inline std::vector<Thread> threads;
inline Thread *current;
inline std::function<void()> body;
alignas(16) inline char dynamicShared[64 * 1024];
inline std::map<int, std::pair<unsigned, unsigned>> barriers;  // id -> (arrived, generation)
inline std::map<std::pair<unsigned, unsigned>, Rendezvous> meetings;  // (warp, mask)
inline unsigned liveThreads;
inline uint64_t barrierValue[3];
inline bool progressed;

[[noreturn]] inline void fail(const std::string &why) {
  std::fprintf(stderr, "host run: %s (block %u,%u,%u)\n", why.c_str(), blockIdx.x, blockIdx.y, blockIdx.z);
  std::exit(1);
}

inline void yield() { swapcontext(&current->context, &scheduler); }

inline void entry() {
  body();
  current->done = true;
  yield();
}

// Runs one block to its end; a full round in which every thread merely waits for others is bounded.
inline void runBlock(unsigned count) {
  threads.resize(count);
  barriers.clear();
  meetings.clear();
  liveThreads = count;
  unsigned linear = 0;
  for (unsigned z = 0; z < blockDim.z; z++)
    for (unsigned y = 0; y < blockDim.y; y++)
      for (unsigned x = 0; x < blockDim.x; x++, linear++) {
        Thread &t = threads[linear];
        t.stack.resize(128 * 1024);
        t.index = make_uint3(x, y, z);
        t.linear = linear;
        t.done = false;
        getcontext(&t.context);
        t.context.uc_stack.ss_sp = t.stack.data();
        t.context.uc_stack.ss_size = t.stack.size();
        t.context.uc_link = nullptr;
        makecontext(&t.context, entry, 0);
      }
  for (unsigned round = 0; liveThreads > 0; round++) {
    if (round > 1000000) fail("no end after a million rounds: a deadlock?");
    for (Thread &t : threads) {
      if (t.done) continue;
      current = &t;
      threadIdx = t.index;
      swapcontext(&scheduler, &t.context);
      if (t.done) liveThreads--;
    }
  }
}

// Barrier `id` of `count` threads; zero means all threads of the block that still run.
inline void arrive(int id, unsigned count) {
  auto &b = barriers[id];
  if (++b.first == count) {
    b.first = 0;
    b.second++;
  }
}

inline void barrier(int id, unsigned count) {
  unsigned generation = barriers[id].second;
  uint3 self = threadIdx;
  auto &b = barriers[id];
  b.first++;
  while (b.second == generation) {
    if (b.first >= (count ? count : liveThreads)) {
      b.first = 0;
      b.second++;
      break;
    }
    yield();
  }
  threadIdx = self;
}

// Every lane of `mask` gives a value and gets the values of all.
inline const uint64_t *meet(unsigned mask, uint64_t value) {
  unsigned lane = current->linear % 32;
  if (!(mask >> lane & 1)) fail("a lane outside the mask executes a warp primitive");
  Rendezvous &r = meetings[{current->linear / 32, mask}];
  unsigned generation = r.generation;
  r.incoming[lane] = value;
  r.arrived |= 1u << lane;
  if (r.arrived == mask) {
    std::memcpy(r.agreed, r.incoming, sizeof r.agreed);
    r.arrived = 0;
    r.generation++;
  }
  while (r.generation == generation) yield();
  return r.agreed;
}

}  // namespace fiber

inline void __syncthreads() { fiber::barrier(0, 0); }
inline void __syncwarp(unsigned mask = ~0u) { fiber::meet(mask, 0); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}

// `__syncthreads_count` and its relatives: the sum of the predicates of all threads.
inline int __syncthreads_count(int p) {
  __syncthreads();
  fiber::barrierValue[0] = 0;
  __syncthreads();
  fiber::barrierValue[0] += p != 0;
  __syncthreads();
  int n = int(fiber::barrierValue[0]);
  __syncthreads();
  return n;
}
inline int __syncthreads_or(int p) { return __syncthreads_count(p) != 0; }
inline int __syncthreads_and(int p) { return __syncthreads_count(!p) == 0; }

// ------------------------------------------------------------------------------------------------------- warp primitives
namespace fiber {
inline unsigned lane() { return current->linear % 32; }
template <class T> uint64_t pack(T v) {
  uint64_t u = 0;
  std::memcpy(&u, &v, sizeof v);
  return u;
}
template <class T> T unpack(uint64_t u) {
  T v;
  std::memcpy(&v, &u, sizeof v);
  return v;
}
template <class T> T fromLane(unsigned mask, T v, int source, bool inRange) {
  const uint64_t *all = meet(mask, pack(v));
  if (!inRange) return v;
  if (!(mask >> source & 1)) fail("shuffle from a lane outside the mask");
  return unpack<T>(all[source]);
}
}  // namespace fiber

template <class T> T __shfl_sync(unsigned mask, T v, int source, int width = 32) {
  int base = fiber::lane() & ~(width - 1);
  return fiber::fromLane(mask, v, base | (source & (width - 1)), true);
}
template <class T> T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32) {
  int l = fiber::lane(), base = l & ~(width - 1), s = l - int(delta);
  return fiber::fromLane(mask, v, s, s >= base);
}
template <class T> T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32) {
  int l = fiber::lane(), s = (l & (width - 1)) + int(delta);
  return fiber::fromLane(mask, v, l + int(delta), s < width);
}
template <class T> T __shfl_xor_sync(unsigned mask, T v, int bits, int width = 32) {
  int l = fiber::lane(), s = l ^ bits;
  return fiber::fromLane(mask, v, s, s < (l & ~(width - 1)) + width);
}
inline unsigned __ballot_sync(unsigned mask, int p) {
  const uint64_t *all = fiber::meet(mask, p != 0);
  unsigned r = 0;
  for (int i = 0; i < 32; i++)
    if (mask >> i & 1) r |= unsigned(all[i]) << i;
  return r;
}
inline int __any_sync(unsigned mask, int p) { return __ballot_sync(mask, p) != 0; }
inline int __all_sync(unsigned mask, int p) { return __ballot_sync(mask, p) == mask; }
template <class T> unsigned __match_any_sync(unsigned mask, T v) {
  const uint64_t *all = fiber::meet(mask, fiber::pack(v));
  unsigned r = 0;
  for (int i = 0; i < 32; i++)
    if ((mask >> i & 1) && all[i] == fiber::pack(v)) r |= 1u << i;
  return r;
}
template <class T> unsigned __match_all_sync(unsigned mask, T v, int *p) {
  unsigned same = __match_any_sync(mask, v);
  *p = same == mask;
  return *p ? mask : 0;
}
#define HOST_REDUX(name, T, expr)                      \
  inline T name(unsigned mask, T v) {                  \
    const uint64_t *all = fiber::meet(mask, uint32_t(v)); \
    bool first = true;                                 \
    T a = 0;                                           \
    for (int i = 0; i < 32; i++) {                     \
      if (!(mask >> i & 1)) continue;                  \
      T b = T(uint32_t(all[i]));                       \
      a = first ? b : T(expr);                         \
      first = false;                                   \
    }                                                  \
    return a;                                          \
  }
HOST_REDUX(__reduce_add_sync, unsigned, a + b)
HOST_REDUX(__reduce_and_sync, unsigned, a & b)
HOST_REDUX(__reduce_or_sync, unsigned, a | b)
HOST_REDUX(__reduce_xor_sync, unsigned, a ^ b)
HOST_REDUX(__reduce_min_sync, unsigned, a < b ? a : b)
HOST_REDUX(__reduce_max_sync, unsigned, a > b ? a : b)
HOST_REDUX(__reduce_add_sync, int, unsigned(a) + unsigned(b))
HOST_REDUX(__reduce_min_sync, int, a < b ? a : b)
HOST_REDUX(__reduce_max_sync, int, a > b ? a : b)

// --------------------------------------------------------------------------------------------------------------- atomics
// Fibers give way only where they wait, so plain reads and writes are atomic.
#define HOST_ATOMIC(name, expr)                                           \
  template <class T, class U> T name(T *p, U value) {                     \
    T old = *p, v = T(value);                                             \
    *p = T(expr);                                                         \
    return old;                                                           \
  }
HOST_ATOMIC(atomicAdd, old + v)
HOST_ATOMIC(atomicSub, old - v)
HOST_ATOMIC(atomicMin, v < old ? v : old)
HOST_ATOMIC(atomicMax, v > old ? v : old)
HOST_ATOMIC(atomicAnd, old &v)
HOST_ATOMIC(atomicOr, old | v)
HOST_ATOMIC(atomicXor, old ^ v)
HOST_ATOMIC(atomicExch, v)
HOST_ATOMIC(atomicInc, old >= v ? 0 : old + 1)
HOST_ATOMIC(atomicDec, old == 0 || old > v ? v : old - 1)
template <class T, class U, class V> T atomicCAS(T *p, U expected, V value) {
  T old = *p;
  if (old == T(expected)) *p = T(value);
  return old;
}

// -------------------------------------------------------------------------------------------------------- integer helpers
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
  unsigned r = 0;
  for (int i = 0; i < 32; i++) r |= (x >> i & 1) << (31 - i);
  return r;
}
inline unsigned long long __brevll(unsigned long long x) {
  return (unsigned long long)__brev(unsigned(x)) << 32 | __brev(unsigned(x >> 32));
}
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned(uint64_t(a) * b >> 32); }
inline int __mulhi(int a, int b) { return int(int64_t(a) * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
inline int __mul24(int a, int b) { return int(uint32_t(a << 8 >> 8) * uint32_t(b << 8 >> 8)); }
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a > b ? a - b : b - a) + c; }
inline unsigned __sad(int a, int b, unsigned c) { return (a > b ? unsigned(a) - unsigned(b) : unsigned(b) - unsigned(a)) + c; }
inline int __hadd(int a, int b) { return int((int64_t(a) + b) >> 1); }
inline int __rhadd(int a, int b) { return int((int64_t(a) + b + 1) >> 1); }
inline unsigned __uhadd(unsigned a, unsigned b) { return unsigned((uint64_t(a) + b) >> 1); }
inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) {
  return unsigned((uint64_t(hi) << 32 | lo) << (n & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) {
  return unsigned((uint64_t(hi) << 32 | lo) >> (n & 31));
}
inline unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned n) {
  return n >= 32 ? lo : unsigned((uint64_t(hi) << 32 | lo) << n >> 32);
}
inline unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned n) {
  return n >= 32 ? hi : unsigned((uint64_t(hi) << 32 | lo) >> n);
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
  uint64_t v = uint64_t(b) << 32 | a;
  unsigned r = 0;
  for (int i = 0; i < 4; i++) r |= unsigned(v >> ((s >> 4 * i & 7) * 8) & 255) << 8 * i;
  return r;
}
inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; i++) c = int(unsigned(c) + unsigned(int(int8_t(a >> 8 * i)) * int8_t(b >> 8 * i)));
  return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; i++) c += (a >> 8 * i & 255) * (b >> 8 * i & 255);
  return c;
}
inline int __dp2a_lo(int a, int b, int c) {
  for (int i = 0; i < 2; i++) c = int(unsigned(c) + unsigned(int(int16_t(a >> 16 * i)) * int8_t(b >> 8 * i)));
  return c;
}
inline int __dp2a_hi(int a, int b, int c) { return __dp2a_lo(a, b >> 16, c); }
template <class T> T min(T a, T b) { return b < a ? b : a; }
template <class T> T max(T a, T b) { return a < b ? b : a; }
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }

// --------------------------------------------------------------------------------------------------- rounded floating point
namespace rounded {
// Evaluates in the given rounding mode; volatile keeps the compiler from computing in another one.
template <class F> __attribute__((noinline)) auto in(int mode, F f) {
  int old = fegetround();
  fesetround(mode);
  auto r = f();
  fesetround(old);
  return r;
}
}  // namespace rounded
#define HOST_ROUNDED(suffix, mode)                                                                                      \
  inline float __fadd_##suffix(float a, float b) { volatile float x = a, y = b; return rounded::in(mode, [&] { volatile float r = x + y; return float(r); }); } \
  inline float __fsub_##suffix(float a, float b) { volatile float x = a, y = b; return rounded::in(mode, [&] { volatile float r = x - y; return float(r); }); } \
  inline float __fmul_##suffix(float a, float b) { volatile float x = a, y = b; return rounded::in(mode, [&] { volatile float r = x * y; return float(r); }); } \
  inline float __fdiv_##suffix(float a, float b) { volatile float x = a, y = b; return rounded::in(mode, [&] { volatile float r = x / y; return float(r); }); } \
  inline float __fsqrt_##suffix(float a) { volatile float x = a; return rounded::in(mode, [&] { volatile float r = std::sqrt(x); return float(r); }); } \
  inline float __fmaf_##suffix(float a, float b, float c) { volatile float x = a, y = b, z = c; return rounded::in(mode, [&] { volatile float r = std::fma(float(x), float(y), float(z)); return float(r); }); } \
  inline double __dadd_##suffix(double a, double b) { volatile double x = a, y = b; return rounded::in(mode, [&] { volatile double r = x + y; return double(r); }); } \
  inline double __dmul_##suffix(double a, double b) { volatile double x = a, y = b; return rounded::in(mode, [&] { volatile double r = x * y; return double(r); }); } \
  inline double __ddiv_##suffix(double a, double b) { volatile double x = a, y = b; return rounded::in(mode, [&] { volatile double r = x / y; return double(r); }); } \
  inline double __dsqrt_##suffix(double a) { volatile double x = a; return rounded::in(mode, [&] { volatile double r = std::sqrt(x); return double(r); }); } \
  inline double __fma_##suffix(double a, double b, double c) { volatile double x = a, y = b, z = c; return rounded::in(mode, [&] { volatile double r = std::fma(double(x), double(y), double(z)); return double(r); }); } \
  inline float __int2float_##suffix(int a) { volatile int x = a; return rounded::in(mode, [&] { volatile float r = float(x); return float(r); }); } \
  inline float __uint2float_##suffix(unsigned a) { volatile long long x = a; return rounded::in(mode, [&] { volatile float r = float(x); return float(r); }); } \
  inline float __ll2float_##suffix(long long a) { volatile long long x = a; return rounded::in(mode, [&] { volatile float r = float(x); return float(r); }); } \
  inline double __ll2double_##suffix(long long a) { volatile long long x = a; return rounded::in(mode, [&] { volatile double r = double(x); return double(r); }); } \
  inline float __double2float_##suffix(double a) { volatile double x = a; return rounded::in(mode, [&] { volatile float r = float(x); return float(r); }); } \
  inline int __float2int_##suffix(float a) { return rounded::toInteger<int>(mode, a); }                                   \
  inline unsigned __float2uint_##suffix(float a) { return rounded::toInteger<unsigned>(mode, a); }                        \
  inline long long __float2ll_##suffix(float a) { return rounded::toInteger<long long>(mode, a); }                        \
  inline int __double2int_##suffix(double a) { return rounded::toInteger<int>(mode, a); }                                 \
  inline long long __double2ll_##suffix(double a) { return rounded::toInteger<long long>(mode, a); }                      \
  inline unsigned long long __double2ull_##suffix(double a) { return rounded::toInteger<unsigned long long>(mode, a); }
namespace rounded {
// PTX ISA 9.0, cvt: rounds to an integral value, clamps to the destination's range; a 32-bit NaN source gives 0.
template <class T> T toInteger(int mode, double a) {
  if (std::isnan(a)) return 0;
  volatile double x = a;
  double r = in(mode, [&] { volatile double v = std::nearbyint(x); return double(v); });
  if (r < double(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (r >= std::ldexp(1.0, std::numeric_limits<T>::digits)) return std::numeric_limits<T>::max();
  return T(r);
}
}  // namespace rounded
HOST_ROUNDED(rn, FE_TONEAREST)
HOST_ROUNDED(rz, FE_TOWARDZERO)
HOST_ROUNDED(ru, FE_UPWARD)
HOST_ROUNDED(rd, FE_DOWNWARD)
inline float __saturatef(float x) { return std::isnan(x) ? 0.0f : x < 0 ? 0.0f : x > 1 ? 1.0f : x; }
inline float __int_as_float(int x) { return fiber::unpack<float>(unsigned(x)); }
inline int __float_as_int(float x) { return int(fiber::pack(x)); }
inline unsigned __float_as_uint(float x) { return unsigned(fiber::pack(x)); }
inline float __uint_as_float(unsigned x) { return fiber::unpack<float>(x); }
inline long long __double_as_longlong(double x) { return (long long)fiber::pack(x); }
inline double __longlong_as_double(long long x) { return fiber::unpack<double>(uint64_t(x)); }
inline int __double2loint(double x) { return int(fiber::pack(x)); }
inline int __double2hiint(double x) { return int(fiber::pack(x) >> 32); }
inline double __hiloint2double(int hi, int lo) { return fiber::unpack<double>(uint64_t(unsigned(hi)) << 32 | unsigned(lo)); }
inline float rsqrtf(float x) { return float(1.0 / std::sqrt(double(x))); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __expf(float x) { return float(std::exp(double(x))); }
inline float __logf(float x) { return float(std::log(double(x))); }
inline float __log2f(float x) { return float(std::log2(double(x))); }
inline float __sinf(float x) { return float(std::sin(double(x))); }
inline float __cosf(float x) { return float(std::cos(double(x))); }
inline float __powf(float x, float y) { return float(std::pow(double(x), double(y))); }
inline float __frcp_rn(float x) { return 1.0f / x; }
template <class T> T __ldg(const T *p) { return *p; }
template <class T> T __ldcg(const T *p) { return *p; }
template <class T> T __ldcs(const T *p) { return *p; }
template <class T> T __ldca(const T *p) { return *p; }
template <class T> void __stcg(T *p, T v) { *p = v; }
template <class T> void __stcs(T *p, T v) { *p = v; }
template <class T> void __stwt(T *p, T v) { *p = v; }

// ----------------------------------------------------------------------------------------------------- launches and files
template <class T> constexpr const char *typeName() {
  if constexpr (std::is_same_v<T, __half>) return "f16";
  else if constexpr (std::is_same_v<T, __nv_bfloat16>) return "bf16";
  else if constexpr (std::is_same_v<T, float>) return "f32";
  else if constexpr (std::is_same_v<T, double>) return "f64";
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) return sizeof(T) == 1 ? "s8" : sizeof(T) == 2 ? "s16" : sizeof(T) == 4 ? "s32" : "s64";
  else if constexpr (std::is_integral_v<T>) return sizeof(T) == 1 ? "u8" : sizeof(T) == 2 ? "u16" : sizeof(T) == 4 ? "u32" : "u64";
  else return nullptr;
}

enum class Start { data, zero, iota };

// A buffer argument. `E` is the element type written in the launch file (a float4 buffer is listed as f32).
template <class T> struct Buffer {
  std::string name;
  std::vector<T> *values;
  Start start;
  bool checked;
  double tolerance;
  template <class P> P as() const { return reinterpret_cast<P>(values->data()); }
};

template <class T> struct Value {
  T value;
  template <class P> P as() const { return P(value); }
};

// Kernel arguments: read only, read and written, written only (starts as zero), by value.
template <class T> Buffer<T> input(const char *name, std::vector<T> &v) { return {name, &v, Start::data, false, 0}; }
template <class T> Buffer<T> inout(const char *name, std::vector<T> &v, double tolerance = 0) { return {name, &v, Start::data, true, tolerance}; }
template <class T> Buffer<T> output(const char *name, std::vector<T> &v, double tolerance = 0) { return {name, &v, Start::zero, true, tolerance}; }
template <class T> Buffer<T> scratch(const char *name, std::vector<T> &v) { return {name, &v, Start::zero, false, 0}; }
template <class T> Buffer<T> counting(const char *name, std::vector<T> &v) { return {name, &v, Start::iota, false, 0}; }
template <class T> Value<T> value(T v) { return {v}; }

class Host {
 public:
  Host(std::string folder, std::string module, std::string needs) : folder_(folder), module_(module), needs_(needs) {}

  // splitmix64, so that inputs are the same everywhere.
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
  }
  // Uniform values: integers over [low, high], floating point over [low, high).
  template <class T> std::vector<T> random(size_t n, double low, double high) {
    std::vector<T> v(n);
    for (T &x : v) {
      if constexpr (std::is_integral_v<T>) x = T(int64_t(low) + int64_t(next() % (uint64_t(int64_t(high) - int64_t(low)) + 1)));
      else if constexpr (std::is_same_v<T, __half>) x = __float2half(float(low + (high - low) * double(next() >> 11) * 0x1p-53));
      else if constexpr (std::is_same_v<T, __nv_bfloat16>) x = __float2bfloat16(float(low + (high - low) * double(next() >> 11) * 0x1p-53));
      else x = T(low + (high - low) * double(next() >> 11) * 0x1p-53);
    }
    return v;
  }
  // Random bit patterns of any type.
  template <class T> std::vector<T> bits(size_t n) {
    std::vector<T> v(n);
    for (T &x : v) x = fiber::unpack<T>(next());
    return v;
  }

  // Known answers from outside (published vectors, closed forms): the build stops if one does not hold.
  void check(bool holds, const char *what) {
    if (holds) return;
    std::fprintf(stderr, "%s: check failed: %s\n", module_.c_str(), what);
    std::exit(1);
  }

  // Writes launch[-variant].yaml with its data, runs the kernel here, writes what came out.
  template <class... P, class... A>
  void launch(const char *variant, const char *kernel, void (*fn)(P...), dim3 grid, dim3 block, size_t shared, A... args) {
    std::string suffix = *variant ? std::string("-") + variant : "";
    std::string yaml = "# yaml-language-server: $schema=../../../schemas/launch.schema.json\n";
    if (!needs_.empty()) yaml += "# needs " + needs_ + " or later\n";
    yaml += "kind: launch\nmodule: " + module_ + "\nkernel: " + kernel + "\n";
    yaml += "grid: [" + dims(grid) + "]\nblock: [" + dims(block) + "]\n";
    if (shared) yaml += "dynamic-shared: " + std::to_string(shared) + "\n";
    yaml += "params:\n";
    (prepare(args), ...);
    std::vector<std::string> lines = {describe(args, suffix)...};
    gridDim = grid;
    blockDim = block;
    fiber::body = [=] { fn(args.template as<P>()...); };
    for (unsigned z = 0; z < grid.z; z++)
      for (unsigned y = 0; y < grid.y; y++)
        for (unsigned x = 0; x < grid.x; x++) {
          blockIdx = make_uint3(x, y, z);
          fiber::runBlock(block.x * block.y * block.z);
        }
    (finish(args, suffix), ...);
    for (auto &l : lines) yaml += "  - " + l + "\n";
    if (sizeof...(A) == 0) fiber::fail("a launch without parameters writes nothing");
    save("launch" + suffix + ".yaml", yaml.data(), yaml.size());
  }

 private:
  std::string folder_, module_, needs_;
  uint64_t state_ = 2026;

  static std::string dims(dim3 d) { return std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z); }
  void save(const std::string &name, const void *data, size_t size) {
    FILE *f = std::fopen((folder_ + "/" + name).c_str(), "wb");
    if (!f || std::fwrite(data, 1, size, f) != size) fiber::fail("cannot write " + name);
    std::fclose(f);
  }
  template <class T> void prepare(Buffer<T> &b) {
    if (b.start == Start::zero) std::memset(static_cast<void *>(b.values->data()), 0, b.values->size() * sizeof(T));
    if constexpr (std::is_arithmetic_v<T>)
      if (b.start == Start::iota)
        for (size_t i = 0; i < b.values->size(); i++) (*b.values)[i] = T(i);
  }
  template <class T> void prepare(Value<T> &) {}
  // Vector and struct elements are listed by their scalar type.
  template <class T> struct Scalar { using type = T; };
  template <class T> std::string describe(const Buffer<T> &b, const std::string &suffix) {
    using E = typename Element<T>::type;
    std::string s = std::string("{ buffer: ") + typeName<E>() + ", length: " + std::to_string(b.values->size() * sizeof(T) / sizeof(E));
    if (b.start == Start::data) {
      std::string file = b.name + suffix + ".bin";
      save(file, b.values->data(), b.values->size() * sizeof(T));
      s += ", data: " + file;
    } else {
      s += std::string(", fill: ") + (b.start == Start::zero ? "zero" : "iota");
    }
    if (b.checked) s += ", expect: " + b.name + suffix + ".out.bin";
    if (b.tolerance > 0) {
      char t[32];
      std::snprintf(t, sizeof t, "%g", b.tolerance);
      s += std::string(", tolerance: ") + t;
    }
    return s + " }";
  }
  template <class T> std::string describe(const Value<T> &v, const std::string &suffix) {
    if constexpr (std::is_arithmetic_v<T>) {
      char t[64];
      if constexpr (std::is_floating_point_v<T>) std::snprintf(t, sizeof t, sizeof(T) == 4 ? "%.9g" : "%.17g", double(v.value));
      else if constexpr (std::is_signed_v<T>) std::snprintf(t, sizeof t, "%lld", (long long)v.value);
      else std::snprintf(t, sizeof t, "%llu", (unsigned long long)v.value);
      return std::string("{ scalar: ") + typeName<T>() + ", value: " + t + " }";
    } else {
      std::string file = "struct" + std::to_string(structs_++) + suffix + ".bin";
      save(file, &v.value, sizeof(T));
      return "{ bytes: " + std::to_string(sizeof(T)) + ", data: " + file + " }";
    }
  }
  int structs_ = 0;
  template <class T> void finish(const Buffer<T> &b, const std::string &suffix) {
    if (b.checked) save(b.name + suffix + ".out.bin", b.values->data(), b.values->size() * sizeof(T));
  }
  template <class T> void finish(const Value<T> &, const std::string &) {}

 public:
  template <class T, class = void> struct Element { using type = T; };
  template <class T> struct Element<T, std::void_t<decltype(T::x)>> { using type = decltype(T::x); };
};
#define HALF_IS_SCALAR(T) template <> struct Host::Element<T, void> { using type = T; };
HALF_IS_SCALAR(__half)
HALF_IS_SCALAR(__nv_bfloat16)
template <> struct Host::Element<__half2, void> { using type = __half; };
template <> struct Host::Element<__nv_bfloat162, void> { using type = __nv_bfloat16; };

// Every kernel source defines this: its launches.
void launches(Host &host);

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  Host host(argv[1], argv[2], argv[3]);
  launches(host);
  return 0;
}
