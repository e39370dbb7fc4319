#include "kernels/core/text/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

std::string refusal_of(std::string_view text) {
  const auto labels = parse_labels(text);
  return labels ? "read" : labels.error().message;
}

TEST(Labels, AreReadBetweenCommasWithKeysInLowerCase) {
  EXPECT_THAT(*parse_labels(" Rack=rack7, topology.kubernetes.io/zone=Zone-1 "),
              ElementsAre(Pair("rack", "rack7"), Pair("topology.kubernetes.io/zone", "Zone-1")));
  EXPECT_THAT(*parse_labels(""), IsEmpty());
}

TEST(Labels, RefuseWhatNoSelectorCouldNameAgain) {
  EXPECT_THAT(refusal_of("rack"), HasSubstr("\"rack\": must be KEY=VALUE"));
  EXPECT_THAT(refusal_of("rack="), HasSubstr("a value is"));
  EXPECT_THAT(refusal_of("=7"), HasSubstr("a key is"));
  EXPECT_THAT(refusal_of("rack=a&b"), HasSubstr("a value is"));
  EXPECT_THAT(refusal_of("ra ck=7"), HasSubstr("a key is"));
  EXPECT_THAT(refusal_of("rack=1,RACK=2"), HasSubstr("twice"));
  EXPECT_THAT(refusal_of("a=1,,b=2"), HasSubstr("KEY=VALUE"));
  EXPECT_THAT(refusal_of("a=" + std::string(kMaxLabelBytes + 1, 'x')), HasSubstr("1 to 128"));
  std::string many = "k0=v";
  for (std::size_t i = 1; i <= kMaxLabels; ++i) many += ",k" + std::to_string(i) + "=v";
  EXPECT_THAT(refusal_of(many), HasSubstr("more than 128"));
}

TEST(Labels, OfAPodComeFromTheFileThatKubernetesWrites) {
  const auto labels = parse_label_lines(
      "app.kubernetes.io/name=\"railgauge-agent\"\n"
      "topology.kubernetes.io/zone=\"z1\"\n"
      "# by hand\n"
      "node-role.kubernetes.io/worker=\"\"\n");
  ASSERT_TRUE(labels) << labels.error().message;
  EXPECT_THAT(*labels, ElementsAre(Pair("app.kubernetes.io/name", "railgauge-agent"),
                                   Pair("topology.kubernetes.io/zone", "z1")));
  EXPECT_FALSE(parse_label_lines("two words\n"));
}

TEST(Labels, AreWrittenAsTheyAreRead) {
  const auto labels = parse_labels("rack=rack7,pod=p1");
  EXPECT_EQ(label_text(*labels), "pod=p1,rack=rack7");
  EXPECT_EQ(*parse_labels(label_text(*labels)), *labels);
}

}  // namespace
}  // namespace railgauge
