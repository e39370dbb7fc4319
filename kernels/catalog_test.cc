#include "kernels/catalog.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace railgauge {
namespace {

std::vector<KernelInfo> infos() {
  std::vector<KernelInfo> all;
  for (const KernelRow& row : catalog()) all.push_back(row.info());
  return all;
}

TEST(Catalog, IsSortedByUniqueNames) {
  std::vector<std::string> names;
  for (const KernelInfo& info : infos()) names.push_back(info.name());
  EXPECT_FALSE(names.empty());
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  EXPECT_TRUE(std::ranges::is_sorted(names));
}

TEST(Catalog, FindsEachKernelByItsNameAndNoOther) {
  for (const KernelInfo& info : infos()) {
    const KernelRow* row = find_kernel(info.name());
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->info().name(), info.name());
    EXPECT_NE(row->make(), nullptr);
  }
  EXPECT_EQ(find_kernel("verbs.absent"), nullptr);
  EXPECT_EQ(find_kernel(""), nullptr);
}

TEST(Catalog, DeclarationsAreWhole) {
  for (const KernelInfo& info : infos()) {
    SCOPED_TRACE(info.name());
    EXPECT_THAT(info.name(), ::testing::MatchesRegex("[a-z]+\\.[a-z0-9_]+"));
    EXPECT_GE(info.revision(), 1U);
    EXPECT_FALSE(info.summary().empty());
    EXPECT_THAT(info.summary(), ::testing::Not(::testing::EndsWith(".")));
    EXPECT_GE(info.min_ranks(), 1U);
    EXPECT_TRUE(info.max_ranks() == 0 || info.max_ranks() >= info.min_ranks());
    EXPECT_THAT(info.endpoint_kind(), ::testing::AnyOf("nic", "gpu", "none"));
    EXPECT_GT(info.metrics_size(), 0);
    for (const std::string& metric : info.metrics())
      EXPECT_THAT(metric,
                  ::testing::AnyOf(::testing::EndsWith("_ns"), ::testing::EndsWith("_per_second"),
                                   ::testing::EndsWith("_bytes"), ::testing::EndsWith("_per_byte"),
                                   ::testing::EndsWith("_share")));
  }
}

TEST(Catalog, ParametersAreUniqueExplainedAndTheirDefaultsAllowed) {
  for (const KernelInfo& info : infos()) {
    SCOPED_TRACE(info.name());
    std::set<std::string> seen;
    for (const ParameterInfo& parameter : info.parameters()) {
      SCOPED_TRACE(parameter.name());
      EXPECT_TRUE(seen.insert(parameter.name()).second);
      EXPECT_FALSE(parameter.summary().empty());
      const auto value = check_parameter(parameter, parameter.default_value());
      EXPECT_TRUE(value) << value.error().message;
      if (value) {
        EXPECT_EQ(*value, parameter.default_value()) << "not the canonical text";
      }
    }
    const auto params = Params::parse(info, {});
    EXPECT_TRUE(params) << params.error().message;
  }
}

// MPI alone moves empty messages, as OSU's programs do.
TEST(Catalog, RefusesASizeOfNothingWhereNoMessageIsEmpty) {
  std::size_t refused = 0;
  for (const KernelInfo& info : infos()) {
    const auto params = Params::parse(info, {{"sizes", "0"}});
    const bool has_sizes = std::ranges::any_of(
        info.parameters(), [](const auto& parameter) { return parameter.name() == "sizes"; });
    if (has_sizes && params)
      EXPECT_THAT(info.name(), ::testing::StartsWith("mpi."));
    else if (has_sizes && ++refused > 0)
      EXPECT_THAT(params.error().message, ::testing::HasSubstr("sizes: 0 is out of range"));
  }
  EXPECT_GT(refused, 40U);
}

// Each kernel is one file that defines a row: none may be forgotten here.
TEST(Catalog, ListsEachRowThatAFileOfAFamilyDefines) {
  std::size_t rows = 0;
  std::ifstream list("kernels/catalog.cc");
  std::stringstream text;
  text << list.rdbuf();
  for (const auto& file : std::filesystem::recursive_directory_iterator("kernels")) {
    // The runner's tests have rows of their own.
    const bool of_a_family = file.path().parent_path() != "kernels" &&
                             !file.path().generic_string().starts_with("kernels/runner/");
    if (!of_a_family || file.path().extension() != ".cc") continue;
    std::ifstream source(file.path());
    const std::regex definition("^extern const KernelRow (k[A-Za-z0-9]+)\\{");
    for (std::string line; std::getline(source, line);) {
      std::smatch match;
      if (!std::regex_search(line, match, definition)) continue;
      ++rows;
      EXPECT_THAT(text.str(), ::testing::HasSubstr(match[1].str())) << file.path();
    }
  }
  EXPECT_EQ(rows, catalog().size());
}

}  // namespace
}  // namespace railgauge
