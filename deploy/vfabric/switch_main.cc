// vfabric-switch --dir DIR --ports N: the virtual fabric's switch, until it is killed.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "deploy/vfabric/switch.h"

namespace {

constexpr int kUsage = 2;
constexpr int kForever = -1;  // an idle switch waits for frames; SIGTERM ends it

int run(const std::string& directory, std::size_t ports) {
  auto made = railgauge::vfabric::Switch::open(directory, ports);
  if (!made) {
    std::fprintf(stderr, "vfabric-switch: %s\n", made.error().message.c_str());
    return EXIT_FAILURE;
  }
  railgauge::Status status;
  while (status) status = made->step(kForever);
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
