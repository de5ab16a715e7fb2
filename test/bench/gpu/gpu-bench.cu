// gpu-bench ORIGINAL.ptx OURS.ptx LAUNCH REPEATS: see README.md. A launch file is lines of words:
//   kernel NAME / grid X Y Z / block X Y Z / shared BYTES / scalar HEX / buffer FILE
// Prints one JSON line: {"equal":true,"original_us":1.5,"ours_us":1.4,"differs":[]}
#include <cuda.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

using Bytes = std::vector<unsigned char>;

static void check(CUresult r, const char *what) {
  if (r == CUDA_SUCCESS) return;
  const char *said = nullptr;
  cuGetErrorString(r, &said);
  std::fprintf(stderr, "%s: %s\n", what, said == nullptr ? "unknown error" : said);
  std::exit(1);
}

static Bytes read(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::exit(1);
  }
  return Bytes(std::istreambuf_iterator<char>(in), {});
}

struct Param {
  Bytes data;
  bool buffer;
};

struct Launch {
  std::string kernel;
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, shared = 0;
  std::vector<Param> params;
};

static Launch parse(const std::string &path) {
  std::ifstream in(path);
  Launch l;
  std::string line, word, value;
  while (std::getline(in, line)) {
    std::istringstream s(line);
    s >> word;
    if (word == "kernel") s >> l.kernel;
    else if (word == "grid") s >> l.grid[0] >> l.grid[1] >> l.grid[2];
    else if (word == "block") s >> l.block[0] >> l.block[1] >> l.block[2];
    else if (word == "shared") s >> l.shared;
    else if (word == "buffer") {
      s >> value;
      l.params.push_back({read(value), true});
    } else if (word == "scalar") {
      s >> value;
      Bytes b;
      for (size_t k = 0; k + 1 < value.size(); k += 2) b.push_back((unsigned char)std::stoul(value.substr(k, 2), nullptr, 16));
      l.params.push_back({b, false});
    }
  }
  return l;
}

// One module on buffers of its own.
struct Side {
  CUmodule module;
  CUfunction kernel;
  std::vector<CUdeviceptr> memory;
  std::vector<void *> args;

  Side(const std::string &ptx, Launch &l) {
    Bytes text = read(ptx);
    text.push_back(0);
    check(cuModuleLoadData(&module, text.data()), ptx.c_str());
    check(cuModuleGetFunction(&kernel, module, l.kernel.c_str()), l.kernel.c_str());
    if (l.shared > 48 * 1024)
      check(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)l.shared), "shared memory");
    memory.resize(l.params.size());
    for (size_t k = 0; k < l.params.size(); k++) {
      if (!l.params[k].buffer) {
        args.push_back(l.params[k].data.data());
        continue;
      }
      check(cuMemAlloc(&memory[k], std::max<size_t>(l.params[k].data.size(), 16)), "memory");
      args.push_back(&memory[k]);
    }
    fill(l);
  }

  void fill(const Launch &l) {
    for (size_t k = 0; k < l.params.size(); k++)
      if (l.params[k].buffer) check(cuMemcpyHtoD(memory[k], l.params[k].data.data(), l.params[k].data.size()), "copy");
  }

  void run(const Launch &l) {
    check(cuLaunchKernel(kernel, l.grid[0], l.grid[1], l.grid[2], l.block[0], l.block[1], l.block[2], l.shared, nullptr,
                         args.data(), nullptr),
          "launch");
  }
};

int main(int argc, char **argv) {
  if (argc != 5) {
    std::fprintf(stderr, "gpu-bench ORIGINAL.ptx OURS.ptx LAUNCH REPEATS\n");
    return 1;
  }
  check(cuInit(0), "driver");
  CUdevice device;
  CUcontext context;
  check(cuDeviceGet(&device, 0), "device");
  check(cuDevicePrimaryCtxRetain(&context, device), "context");
  check(cuCtxSetCurrent(context), "context");
  Launch l = parse(argv[3]);
  Side a(argv[1], l), b(argv[2], l);
  a.run(l);
  b.run(l);
  check(cuCtxSynchronize(), "run");
  std::string differs;
  for (size_t k = 0; k < l.params.size(); k++) {
    if (!l.params[k].buffer) continue;
    Bytes x(l.params[k].data.size()), y(x.size());
    check(cuMemcpyDtoH(x.data(), a.memory[k], x.size()), "copy");
    check(cuMemcpyDtoH(y.data(), b.memory[k], y.size()), "copy");
    for (size_t n = 0; n < x.size(); n++)
      if (x[n] != y[n]) {
        differs += (differs.empty() ? "" : ",") + std::string("{\"param\":") + std::to_string(k) + ",\"byte\":" + std::to_string(n) + "}";
        break;
      }
  }
  CUevent from, to;
  check(cuEventCreate(&from, CU_EVENT_DEFAULT), "event");
  check(cuEventCreate(&to, CU_EVENT_DEFAULT), "event");
  std::vector<float> times[2];
  for (int n = 0; n < std::atoi(argv[4]); n++)
    for (int side = 0; side < 2; side++) {
      // Each run starts from the same memory, and the order alternates.
      Side &s = (side + n) % 2 == 0 ? a : b;
      s.fill(l);
      check(cuEventRecord(from, nullptr), "event");
      s.run(l);
      check(cuEventRecord(to, nullptr), "event");
      check(cuEventSynchronize(to), "run");
      float ms = 0;
      check(cuEventElapsedTime(&ms, from, to), "event");
      times[&s == &b].push_back(ms * 1000);
    }
  for (auto &t : times) std::sort(t.begin(), t.end());
  auto median = [](const std::vector<float> &t) { return t.empty() ? 0.0f : t[t.size() / 2]; };
  std::printf("{\"equal\":%s,\"original_us\":%.3f,\"ours_us\":%.3f,\"differs\":[%s]}\n", differs.empty() ? "true" : "false",
              median(times[0]), median(times[1]), differs.c_str());
  return differs.empty() ? 0 : 2;
}
