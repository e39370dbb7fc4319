#include "controller/listen/unix_listener.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge {
namespace {

using testing::HasSubstr;

class UnixListenerTest : public testing::Test {
 protected:
  UnixListenerTest() {
    std::string name = (std::filesystem::temp_directory_path() / "rg_unix_XXXXXX").string();
    folder_ = mkdtemp(name.data());
    path_ = folder_ / "controller.sock";
  }
  ~UnixListenerTest() override { std::filesystem::remove_all(folder_); }

  // The error of a listener that must not open.
  static Error refusal_of(const std::string& path, const std::string& group) {
    const auto opened = UnixListener::open(path, group);
    return opened ? Error{} : opened.error();
  }

  std::filesystem::path folder_;
  std::string path_;
};

TEST_F(UnixListenerTest, AFileThatIsNoSocketStaysAsItIs) {
  std::ofstream(path_) << "notes";
  const Error error = refusal_of(path_, "");
  EXPECT_EQ(error.code, Code::kAlreadyExists);
  EXPECT_THAT(error.message, HasSubstr("there is a file that is no socket"));
  EXPECT_EQ(std::filesystem::file_size(path_), 5U);
}

TEST_F(UnixListenerTest, OnePathHasOneListenerAndItsFileLeavesWithIt) {
  auto first = UnixListener::open(path_, "");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_THAT(refusal_of(path_, "").message, HasSubstr("another controller answers there"));
  (*first)->stop();
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_TRUE(UnixListener::open(path_, ""));
}

TEST_F(UnixListenerTest, OnlyASocketGroupOpensTheFileToEverybody) {
  const auto mode_with = [this](const std::string& group) {
    const auto opened = UnixListener::open(path_, group);
    EXPECT_TRUE(opened) << opened.error().message;
    struct stat file {};
    EXPECT_EQ(::lstat(path_.c_str(), &file), 0);
    return file.st_mode & 0777U;
  };
  EXPECT_EQ(mode_with(""), 0660U);
  EXPECT_EQ(mode_with("root"), 0666U);
}

TEST_F(UnixListenerTest, AnUnknownGroupAMissingFolderAndALongPathAreNamed) {
  EXPECT_THAT(refusal_of(path_, "no-such-group-here").message, HasSubstr("no such group"));
  EXPECT_EQ(refusal_of((folder_ / "none" / "x.sock").string(), "").code, Code::kNotFound);
  EXPECT_EQ(refusal_of(folder_ / std::string(200, 'x'), "").code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace railgauge
