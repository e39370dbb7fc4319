// vfabric-switch --dir DIR --ports N: the virtual fabric's switch, until it is killed.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "deploy/vfabric/switch.h"

namespace {

constexpr int kUsage = 2;
constexpr int kIdleMs = 1000;  // after it a step tries every queue again; SIGTERM ends the switch

int run(const std::string& directory, std::size_t ports) {
  auto made = railgauge::vfabric::Switch::open(directory, ports);
  if (!made) {
    std::fprintf(stderr, "vfabric-switch: %s\n", made.error().message.c_str());
    return EXIT_FAILURE;
  }
  railgauge::Status status;
  while (status) status = made->step(kIdleMs);
  std::fprintf(stderr, "vfabric-switch: %s\n", status.error().message.c_str());
  return EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5 || std::string(argv[1]) != "--dir" || std::string(argv[3]) != "--ports") {
    std::fprintf(stderr, "usage: vfabric-switch --dir DIR --ports N\n");
    return kUsage;
  }
  return run(argv[2], std::strtoul(argv[4], nullptr, 10));
}
