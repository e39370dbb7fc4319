// The committed reference pages of kernels and parameters equal the ones that the catalog renders.
#include "kernels/core/report/kernel_reference.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "kernels/catalog.h"
#include "kernels/testing/rendered_file.h"

namespace railgauge {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<KernelInfo> infos() {
  std::vector<KernelInfo> all;
  for (const KernelRow& row : catalog()) all.push_back(row.info());
  return all;
}

TEST(KernelReference, PagesAreRenderedFromTheCatalog) {
  expect_file("deploy/docs/reference/kernels.md", kernel_page(infos()));
  expect_file("deploy/docs/reference/parameters.md", parameter_page(infos()));
}

TEST(KernelReference, HasEveryKernelAndEveryParameter) {
  const std::string kernels = kernel_page(infos());
  const std::string parameters = parameter_page(infos());
  for (const KernelInfo& info : infos()) {
    EXPECT_THAT(kernels, HasSubstr("| `" + info.name() + "` |"));
    for (const ParameterInfo& parameter : info.parameters())
      EXPECT_THAT(parameters, HasSubstr("| `" + parameter.name() + "` |"));
  }
}

TEST(KernelReference, GivesEachDeclarationOfOneNameItsOwnRow) {
  std::vector<KernelInfo> two(2);
  two[0].set_name("net.a");
  two[1].set_name("net.b");
  for (KernelInfo& info : two) {
    ParameterInfo& depth = *info.add_parameters();
    depth.set_name("depth");
    depth.set_type("integer");
    depth.set_unit("1");
    depth.set_summary("a|b");
    depth.set_default_value("4");
    depth.set_minimum(1);
    depth.set_maximum(8);
  }
  EXPECT_THAT(parameter_page(two),
              HasSubstr("| `depth` | `net.*` | a\\|b |  | `4` | 1 to 8 | no |"));
  two[1].mutable_parameters(0)->set_default_value("5");
  const std::string page = parameter_page(two);
  EXPECT_THAT(page, HasSubstr("| `depth` | `net.a` | a\\|b |  | `4` |"));
  EXPECT_THAT(page, HasSubstr("| `depth` | `net.b` | a\\|b |  | `5` |"));
  EXPECT_THAT(page, Not(HasSubstr("net.*")));
}

}  // namespace
}  // namespace railgauge
