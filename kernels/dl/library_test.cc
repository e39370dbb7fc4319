#include "kernels/dl/library.h"

#include <gmock/gmock.h>

namespace railgauge {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(Library, BindsAFunctionThatCanBeCalled) {
  const auto library = Library::open("libm.so.6");
  ASSERT_TRUE(library) << library.error().message;
  const auto cosine = library->bind<double (*)(double)>("cos");
  ASSERT_TRUE(cosine) << cosine.error().message;
  EXPECT_EQ((*cosine)(0.0), 1.0);
  EXPECT_THAT(library->path(), HasSubstr("/libm"));
}

TEST(Library, SaysTheLoadersWordsWhenAFileIsAbsent) {
  const auto library = Library::open("librailgauge-absent.so.1");
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, Code::kNotFound);
  EXPECT_THAT(library.error().message, HasSubstr("librailgauge-absent.so.1"));
  EXPECT_THAT(library.error().message, HasSubstr("No such file"));
}

TEST(Library, NamesTheFunctionThatAnOldLibraryLacks) {
  const auto library = Library::open("libm.so.6");
  ASSERT_TRUE(library);
  const auto absent = library->bind<void (*)()>("railgauge_no_such_function");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Code::kUnimplemented);
  EXPECT_THAT(absent.error().message, EndsWith("lacks the function railgauge_no_such_function"));
  EXPECT_EQ(library->find<void (*)()>("railgauge_no_such_function"), nullptr);
}

TEST(Library, TakesTheVersionFromTheFilesName) {
  const auto library = Library::open("libm.so.6");
  ASSERT_TRUE(library);
  EXPECT_EQ(library->version(), "6");
}

}  // namespace
}  // namespace railgauge
