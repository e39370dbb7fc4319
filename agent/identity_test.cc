#include "agent/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/testing/temp_dir.h"

namespace railgauge::agent {
namespace {
using testing::HasSubstr;

TEST(Identity, KeepsItsIdAndChangesItsIncarnation) {
  const TempDir folder;
  std::string id;
  std::string incarnation;
  {
    const auto first = load_identity(folder / "state");
    ASSERT_TRUE(first);
    id = first->node_id;
    incarnation = first->incarnation;
  }
  const auto second = load_identity(folder / "state");
  ASSERT_TRUE(second);
  EXPECT_EQ(second->node_id, id);
  EXPECT_NE(second->incarnation, incarnation);
}

TEST(Identity, ASecondAgentOnTheSameFolderIsRefused) {
  const TempDir folder;
  const auto first = load_identity(folder.path());
  ASSERT_TRUE(first);
  const auto second = load_identity(folder.path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kAlreadyExists);
  EXPECT_THAT(second.error().message, HasSubstr("another agent uses this state folder"));
}

TEST(Identity, ABrokenIdFileIsToldAndNotReplaced) {
  const TempDir folder;
  folder.write("agent-node-id", "not an id\n");
  const auto identity = load_identity(folder.path());
  ASSERT_FALSE(identity);
  EXPECT_EQ(identity.error().code, Code::kDataLoss);
}

TEST(Identity, AFolderThatCannotBeMadeIsAnError) {
  const TempDir folder;
  folder.write("file", "");
  const auto identity = load_identity(folder / "file/state");
  ASSERT_FALSE(identity);
  EXPECT_THAT(identity.error().message, HasSubstr("file/state"));
}

}  // namespace
}  // namespace railgauge::agent
