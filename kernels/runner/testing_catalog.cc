// The catalog of railgauge-runner-testing: the tests' rows in place of the product's.
#include "kernels/catalog.h"
#include "kernels/runner/testing_rows.h"

namespace railgauge {

std::span<const KernelRow> catalog() { return testing_rows::rows(); }

const KernelRow* find_kernel(std::string_view name) {
  for (const KernelRow& row : catalog())
    if (row.info().name() == name) return &row;
  return nullptr;
}

}  // namespace railgauge
