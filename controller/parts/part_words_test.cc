#include "controller/parts/part_words.h"

#include <gtest/gtest.h>

namespace railgauge::parts {
namespace {

using localise::Direction;
using localise::Kind;

TEST(PartWords, NameEachKindOfPart) {
  const Levels levels{.nodes = {{.name = "n1"}, {.name = "n2"}}, .leaves = {"l1", "l2"}};
  EXPECT_EQ(part_name(levels, {.kind = Kind::kPort, .first = 0, .rail = 3}), "n1 rail 3");
  EXPECT_EQ(part_name(levels, {.kind = Kind::kPort,
                               .first = 1,
                               .rail = 0,
                               .memory = "gpu",
                               .direction = Direction::kSends}),
            "n2 rail 0 GPU path, sending");
  EXPECT_EQ(part_name(levels, {.kind = Kind::kNode, .first = 1}), "n2");
  EXPECT_EQ(part_name(levels, {.kind = Kind::kLeaf, .first = 1}), "leaf l2, all rails");
  EXPECT_EQ(part_name(levels, {.kind = Kind::kTrunk, .first = 0, .second = 1, .rail = 2}),
            "leaf l1 and leaf l2, rail 2");
  EXPECT_EQ(part_name(levels, {.kind = Kind::kPair,
                               .first = 0,
                               .second = 1,
                               .rail = 2,
                               .direction = Direction::kSends}),
            "n1 to n2, rail 2");
}

}  // namespace
}  // namespace railgauge::parts
