// A program without MPI. Those that have one are linked with binding.cc, whose object comes first.
#include "kernels/mpi/binding/calls.h"

namespace railgauge::mpi {

Calls* linked() { return nullptr; }

}  // namespace railgauge::mpi
