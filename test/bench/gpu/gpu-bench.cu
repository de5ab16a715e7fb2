// gpu-bench FOLDER [REPEATS [FIRST]]: runs the jobs of FOLDER/jobs, from the FIRST on (0); README.md has the form of the files.
#include <cuda.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

using Bytes = std::vector<unsigned char>;

// After most faults of a kernel nothing runs in the process any more: whoever started it goes on with the next job.
static const int FAULT = 3;

static std::string why;

static bool good(CUresult r, const char *what) {
  if (r == CUDA_SUCCESS) return true;
  const char *said = nullptr;
  cuGetErrorString(r, &said);
  why = std::string(what) + ": " + (said == nullptr ? "unknown error" : said);
  return false;
}

static bool read(const std::string &path, Bytes &bytes) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return false;
  bytes.assign(std::istreambuf_iterator<char>(in), {});
  return true;
}

struct Param {
  Bytes data;
  bool buffer;
};

struct Job {
  std::string name, kernel;
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, cluster[3] = {0, 0, 0}, shared = 0;
  std::vector<std::pair<std::string, std::string>> arms;
  std::vector<Param> params;
};

static std::vector<Job> parse(const std::string &folder) {
  Bytes data;
  read(folder + "/data.bin", data);
  std::ifstream in(folder + "/jobs");
  std::vector<Job> jobs;
  std::string line, word, value;
  while (std::getline(in, line)) {
    std::istringstream s(line);
    if (!(s >> word)) continue;
    if (word == "job") {
      jobs.emplace_back();
      s >> jobs.back().name;
      continue;
    }
    if (jobs.empty()) continue;
    Job &j = jobs.back();
    if (word == "kernel") s >> j.kernel;
    else if (word == "grid") s >> j.grid[0] >> j.grid[1] >> j.grid[2];
    else if (word == "block") s >> j.block[0] >> j.block[1] >> j.block[2];
    else if (word == "cluster") s >> j.cluster[0] >> j.cluster[1] >> j.cluster[2];
    else if (word == "shared") s >> j.shared;
    else if (word == "arm") {
      std::string arm;
      s >> arm >> value;
      j.arms.push_back({arm, folder + "/" + value});
    } else if (word == "buffer") {
      size_t at = 0, length = 0;
      s >> at >> length;
      if (at + length > data.size()) {
        std::fprintf(stderr, "%s/data.bin ends before a buffer of %s\n", folder.c_str(), j.name.c_str());
        std::exit(1);
      }
      j.params.push_back({Bytes(data.begin() + at, data.begin() + at + length), true});
    } else if (word == "scalar") {
      s >> value;
      Bytes b;
      for (size_t k = 0; k + 1 < value.size(); k += 2) b.push_back((unsigned char)std::stoul(value.substr(k, 2), nullptr, 16));
      j.params.push_back({b, false});
    }
  }
  return jobs;
}

// One module on buffers of its own.
struct Side {
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  std::vector<CUdeviceptr> memory;
  std::vector<void *> args;
  std::vector<float> times;
  bool runs = false;

  bool load(const std::string &file, Job &j) {
    Bytes code;
    const size_t dot = file.rfind(".ptx");
    if (!(dot != std::string::npos && read(file.substr(0, dot) + ".cubin", code)) && !read(file, code)) {
      why = "cannot read " + file;
      return false;
    }
    code.push_back(0);
    if (!good(cuModuleLoadData(&module, code.data()), "load")) return false;
    if (!good(cuModuleGetFunction(&kernel, module, j.kernel.c_str()), "kernel")) return false;
    if (j.shared > 48 * 1024 &&
        !good(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)j.shared), "shared memory"))
      return false;
    memory.assign(j.params.size(), 0);
    for (size_t k = 0; k < j.params.size(); k++) {
      if (!j.params[k].buffer) {
        args.push_back(j.params[k].data.data());
        continue;
      }
      if (!good(cuMemAlloc(&memory[k], std::max<size_t>(j.params[k].data.size(), 16)), "memory")) return false;
      args.push_back(&memory[k]);
    }
    return true;
  }

  bool fill(const Job &j) {
    for (size_t k = 0; k < j.params.size(); k++)
      if (j.params[k].buffer && !j.params[k].data.empty() &&
          !good(cuMemcpyHtoD(memory[k], j.params[k].data.data(), j.params[k].data.size()), "copy"))
        return false;
    return true;
  }

  bool run(const Job &j) {
    CUlaunchConfig c = {};
    c.gridDimX = j.grid[0], c.gridDimY = j.grid[1], c.gridDimZ = j.grid[2];
    c.blockDimX = j.block[0], c.blockDimY = j.block[1], c.blockDimZ = j.block[2];
    c.sharedMemBytes = j.shared;
    CUlaunchAttribute a = {};
    if (j.cluster[0] > 0) {
      a.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
      a.value.clusterDim.x = j.cluster[0], a.value.clusterDim.y = j.cluster[1], a.value.clusterDim.z = j.cluster[2];
      c.attrs = &a, c.numAttrs = 1;
    }
    return good(cuLaunchKernelEx(&c, kernel, args.data(), nullptr), "launch");
  }

  ~Side() {
    for (CUdeviceptr m : memory)
      if (m != 0) cuMemFree(m);
    if (module != nullptr) cuModuleUnload(module);
  }
};

int main(int argc, char **argv) {
  if (argc < 2 || argc > 4) {
    std::fprintf(stderr, "gpu-bench FOLDER [REPEATS [FIRST]]\n");
    return 1;
  }
  const std::string folder = argv[1];
  const int repeats = argc > 2 ? std::atoi(argv[2]) : 0;
  const size_t first = argc > 3 ? (size_t)std::atoll(argv[3]) : 0;
  CUdevice device;
  CUcontext context;
  if (!good(cuInit(0), "driver") || !good(cuDeviceGet(&device, 0), "device") ||
      !good(cuDevicePrimaryCtxRetain(&context, device), "context") || !good(cuCtxSetCurrent(context), "context")) {
    std::fprintf(stderr, "%s\n", why.c_str());
    return 1;
  }
  CUevent from, to;
  cuEventCreate(&from, CU_EVENT_DEFAULT);
  cuEventCreate(&to, CU_EVENT_DEFAULT);
  std::vector<Job> jobs = parse(folder);
  FILE *said = std::fopen((folder + "/results").c_str(), first > 0 ? "a" : "w");
  FILE *bytes = std::fopen((folder + "/results.bin").c_str(), first > 0 ? "ab" : "wb");
  if (said == nullptr || bytes == nullptr) {
    std::fprintf(stderr, "cannot write to %s\n", folder.c_str());
    return 1;
  }
  for (size_t n = first; n < jobs.size(); n++) {
    Job &j = jobs[n];
    std::vector<Side> sides(j.arms.size());
    bool fault = false;
    for (size_t a = 0; a < sides.size() && !fault; a++) {
      Side &s = sides[a];
      if (s.load(j.arms[a].second, j) && s.fill(j) && s.run(j)) {
        fault = !good(cuCtxSynchronize(), "run");
        s.runs = !fault;
      }
      if (!s.runs) {
        std::fprintf(said, "%zu %s %s fails %s\n", n, j.name.c_str(), j.arms[a].first.c_str(), why.c_str());
        continue;
      }
      std::fseek(bytes, 0, SEEK_END);
      std::fprintf(said, "%zu %s %s ran %ld\n", n, j.name.c_str(), j.arms[a].first.c_str(), std::ftell(bytes));
      for (size_t k = 0; k < j.params.size(); k++) {
        if (!j.params[k].buffer || j.params[k].data.empty()) continue;
        Bytes x(j.params[k].data.size());
        if (!good(cuMemcpyDtoH(x.data(), s.memory[k], x.size()), "copy")) fault = true;
        std::fwrite(x.data(), 1, x.size(), bytes);
      }
    }
    for (int r = 0; r < repeats && !fault; r++)
      for (size_t a = 0; a < sides.size() && !fault; a++) {
        // Each run starts from the same memory, and the order of the arms moves on by one.
        Side &s = sides[(a + (size_t)r) % sides.size()];
        if (!s.runs) continue;
        float ms = 0;
        s.fill(j);
        cuEventRecord(from, nullptr);
        s.run(j);
        cuEventRecord(to, nullptr);
        fault = !good(cuEventSynchronize(to), "run");
        cuEventElapsedTime(&ms, from, to);
        s.times.push_back(ms * 1000);
      }
    for (size_t a = 0; a < sides.size(); a++) {
      std::vector<float> &t = sides[a].times;
      if (t.empty()) continue;
      std::sort(t.begin(), t.end());
      std::fprintf(said, "%zu %s %s us %.3f\n", n, j.name.c_str(), j.arms[a].first.c_str(), t[t.size() / 2]);
    }
    std::fflush(said);
    std::fflush(bytes);
    if (fault) return n + 1 < jobs.size() ? FAULT : 0;
  }
  return 0;
}
