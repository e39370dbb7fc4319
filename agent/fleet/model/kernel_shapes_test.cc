// The model answers for every kernel that the runner has, with the metrics that the kernel has.
#include "agent/fleet/scenario/kernel_shapes.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "agent/fleet/model/modelled_fabric.h"
#include "kernels/core/base/record.pb.h"

namespace railgauge::fleet {
namespace {

// Reads the output of `railgauge-runner --list`.
KernelList runners_list() {
  const char* build = std::getenv("RAILGAUGE_BUILD_DIR");
  RG_CHECK(build != nullptr);
  const std::string command = std::string(build) + "/bin/railgauge-runner --list --format json";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(popen(command.c_str(), "r"), pclose);
  RG_CHECK(out != nullptr);
  std::string json;
  std::array<char, 4096> chunk{};
  for (std::size_t n = 0; (n = std::fread(chunk.data(), 1, chunk.size(), out.get())) > 0;)
    json.append(chunk.data(), n);
  KernelList list;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &list, options).ok());
  EXPECT_GT(list.kernels_size(), 0);
  return list;
}

TEST(KernelShapes, AreThoseOfTheRunnersKernels) {
  const KernelList list = runners_list();
  std::vector<std::string> names;
  for (const KernelInfo& kernel : list.kernels()) {
    names.push_back(kernel.name());
    const KernelShape* shape = find_shape(kernel.name());
    ASSERT_NE(shape, nullptr) << kernel.name();
    std::vector<std::string> metrics(kernel.metrics().begin(), kernel.metrics().end());
    std::erase(metrics, "host_cpu_ns_per_byte");  // on request alone; the model has no host
    std::erase(metrics, "busiest_port_share");    // of counters that the model has not
    std::erase(metrics, "exposed_ns");            // of calls that do not block
    EXPECT_THAT(metric_names(shape->metrics), testing::ElementsAreArray(metrics)) << kernel.name();
    const bool has_sizes = std::ranges::any_of(
        kernel.parameters(), [](const ParameterInfo& each) { return each.name() == "sizes"; });
    EXPECT_EQ(!shape->sizes.empty(), has_sizes) << kernel.name();
  }
  std::vector<std::string> known;
  for (const KernelShape& shape : kernel_shapes()) known.emplace_back(shape.name);
  EXPECT_THAT(known, testing::UnorderedElementsAreArray(names));
}

// Every kernel of the table yields figures above 0 on the smallest placement that it can have.
TEST(KernelShapes, EachYieldsItsFigures) {
  auto scenario = read_scenario("version: 1\nmetadata: {name: t}\nfabric: {nodes: 2}\n", "t.yaml");
  ASSERT_TRUE(scenario);
  const ModelledFabric fabric(*std::move(scenario));
  for (const KernelShape& shape : kernel_shapes()) {
    ModelledTask task{.kernel = std::string(shape.name), .ranks = {{.node = 0}, {.node = 1}}};
    if (!is_of_fabric(shape)) task.ranks.pop_back();
    const ModelledResult result = fabric.run(task);
    EXPECT_EQ(result.outcome, "passed") << shape.name << ": " << result.reason;
    EXPECT_FALSE(result.points.empty()) << shape.name;
    for (const Point& point : result.points) EXPECT_GT(point.median(), 0) << shape.name;
  }
}

}  // namespace
}  // namespace railgauge::fleet
