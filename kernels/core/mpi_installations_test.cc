#include "kernels/core/mpi_installations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge {
namespace {

TEST(MpiInstallations, AreReadFromTheAgentsSetting) {
  const auto read = read_installations("hpcx=openmpi:/opt/hpcx/ompi,mv=mpich:/opt/mvapich2");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ((*read)[1].name, "mv");
  EXPECT_EQ((*read)[1].mpi, "mpich");
  EXPECT_EQ((*read)[1].prefix, "/opt/mvapich2");
  EXPECT_EQ((*read)[1].library_folders, "/opt/mvapich2/lib:/opt/mvapich2/lib64");
  const auto more = read_installations("hpcx=openmpi:/opt/ompi:/opt/ucx/lib:/opt/hcoll/lib");
  ASSERT_TRUE(more) << more.error().message;
  EXPECT_EQ((*more)[0].prefix, "/opt/ompi");
  EXPECT_EQ((*more)[0].library_folders,
            "/opt/ompi/lib:/opt/ompi/lib64:/opt/ucx/lib:/opt/hcoll/lib");
  EXPECT_TRUE(read_installations("")->empty());
  for (const char* bad : {"hpcx", "=openmpi:/a", "a=lam:/a", "a=mpich:relative", "a=mpich", ",",
                          "a=mpich:/a:", "a=mpich:/a:lib", "a b=mpich:/a", "a/b=mpich:/a"})
    EXPECT_FALSE(read_installations(bad)) << bad;
}

TEST(MpiInstallations, OneNameStandsForOne) {
  const auto twice = read_installations("a=mpich:/a,b=mpich:/b,a=openmpi:/c");
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().message, "mpi_installations: a is named twice; rename one");
}

}  // namespace
}  // namespace railgauge
