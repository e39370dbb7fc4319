// railgauge-launch-shim: mpirun and mpiexec call it instead of ssh. It can start nothing by itself.
#include <cstring>

#include "kernels/launch/shim/shim.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--keep") == 0)
    return railgauge::launch::keep({argv + 2, static_cast<std::size_t>(argc - 2)});
  return railgauge::launch::ask({argv + 1, argv + argc});
}
