#include "kernels/core/text/settings_file.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace railgauge {
namespace {

const std::array<std::string, 3> kFlags{"name", "state-dir", "tls-ca"};

Result<SettingsFile> parse(std::string_view text) {
  return parse_settings_file(text, "agent.conf", kFlags);
}

std::string value(std::string_view text) {
  const auto settings = parse(text);
  return settings ? settings->at("name").value : "error: " + settings.error().message;
}

std::string problem(std::string_view text) {
  const auto settings = parse(text);
  return settings ? "none" : settings.error().message;
}

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_(testing::TempDir() + "settings_file_test_" +
              testing::UnitTest::GetInstance()->current_test_info()->name() + ".conf") {
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(SettingNames, OfAKeyAndOfAVariableFollowTheFlag) {
  EXPECT_EQ(setting_key("state-dir"), "state_dir");
  EXPECT_EQ(setting_variable("state-dir"), "RAILGAUGE_STATE_DIR");
}

TEST(SettingsFile, ReadsKeysAndValuesAndSkipsComments) {
  const auto settings = parse("# ours\n\n name = unix:/run/rg.sock \r\n  # more\nstate_dir=/x y");
  ASSERT_TRUE(settings) << settings.error().message;
  ASSERT_EQ(settings->size(), 2U);
  EXPECT_EQ(settings->at("name").value, "unix:/run/rg.sock");
  EXPECT_EQ(settings->at("name").source, "agent.conf:3: name");
  EXPECT_EQ(settings->at("state-dir").value, "/x y");
  EXPECT_TRUE(parse("")->empty());
}

TEST(SettingsFile, CommentsMayFollowAValueAndQuotesAreNoPartOfIt) {
  EXPECT_EQ(value("name = a b  # ours\n"), "a b");
  EXPECT_EQ(value("name = a#b = c\n"), "a#b = c");
  EXPECT_EQ(value("name = # none\n"), "");
  EXPECT_EQ(value("name =\n"), "");
  EXPECT_EQ(value("name=\" a # b \"  # ours\n"), " a # b ");
  EXPECT_EQ(value("name = \"\"\n"), "");
  EXPECT_EQ(value("name = \"a\" b\n"), "\"a\" b");
  EXPECT_EQ(value("name = \"\n"), "\"");
}

TEST(SettingsFile, AnUnknownKeyGetsTheNearestOneAndAllThatAreAllowed) {
  EXPECT_EQ(problem("name = a\nstate_dri = b\n"),
            "agent.conf:2: unknown key \"state_dri\"; did you mean \"state_dir\"?; allowed are "
            "name, state_dir or tls_ca");
  EXPECT_EQ(problem("colour = red\n"),
            "agent.conf:1: unknown key \"colour\"; allowed are name, state_dir or tls_ca");
  EXPECT_EQ(parse("colour = red\n").error().code, Code::kInvalidArgument);
}

TEST(SettingsFile, AKeyTwiceOrALineWithoutKeyAndValueIsRefused) {
  EXPECT_EQ(problem("name = a\n\nname = a\n"), "agent.conf:3: name is given twice");
  EXPECT_EQ(problem("name = a\nname\n"), "agent.conf:2: \"name\": \"key = value\" is needed");
  EXPECT_EQ(problem(" = a\n"), "agent.conf:1: \"= a\": \"key = value\" is needed");
}

TEST(SettingsFile, AnAbsentFileIsEmptyUnlessItMustExist) {
  const std::string absent = "/nonexistent/agent.conf";
  const auto settings = read_settings_file(absent, kFlags, false);
  ASSERT_TRUE(settings);
  EXPECT_TRUE(settings->empty());
  const auto refused = read_settings_file(absent, kFlags, true);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            absent + ": open: No such file or directory; --config names another file");
}

TEST(SettingsFile, ErrorsOfAFileNameIt) {
  const TemporaryFile file("name = a\nnmae = b\n");
  const auto settings = read_settings_file(file.path(), kFlags, true);
  ASSERT_FALSE(settings);
  EXPECT_TRUE(settings.error().message.starts_with(file.path() + ":2: unknown key \"nmae\""))
      << settings.error().message;
}

TEST(SettingsFile, AFolderOrAHugeFileIsRefused) {
  const auto folder = read_settings_file(testing::TempDir(), kFlags, false);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().message,
            testing::TempDir() + ": read: Is a directory; --config names another file");
  const TemporaryFile most(std::string(kMaxSettingsFileBytes, '\n'));
  EXPECT_TRUE(read_settings_file(most.path(), kFlags, true));
  std::ofstream(most.path(), std::ios::app) << '\n';
  EXPECT_FALSE(read_settings_file(most.path(), kFlags, true));
}

class SettingsFolder : public testing::Test {
 protected:
  SettingsFolder() {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ + "/agent.d");
  }
  ~SettingsFolder() override { std::filesystem::remove_all(root_); }
  void write(const std::string& file, const std::string& text) const {
    std::ofstream(root_ + "/" + file) << text;
  }
  const std::string root_ = testing::TempDir() + "railgauge_settings_folder";
  const std::string path_ = root_ + "/agent.conf";
};

TEST_F(SettingsFolder, TheLastFileThatHasAKeyCounts) {
  write("agent.conf", "name = a\ntls_ca = a\n");
  write("agent.d/2.conf", "name = two\n");
  write("agent.d/1.conf", "name = one\nstate_dir = one\n");
  write("agent.d/3.conf.tmp", "name = draft\n");
  write("agent.d/.4.conf", "name = hidden\n");
  const auto settings = read_settings_files(path_, kFlags, true);
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->at("name").value, "two");
  EXPECT_EQ(settings->at("name").source, root_ + "/agent.d/2.conf:1: name");
  EXPECT_EQ(settings->at("state-dir").value, "one");
  EXPECT_EQ(settings->at("tls-ca").source, path_ + ":2: tls_ca");
}

TEST_F(SettingsFolder, AFileThatMustExistMayBeInTheFolderAlone) {
  EXPECT_FALSE(read_settings_files(path_, kFlags, true));
  write("agent.d/1.conf", "name = one\n");
  EXPECT_TRUE(read_settings_files(path_, kFlags, true));
  write("agent.d/1.conf", "nmae = one\n");
  EXPECT_FALSE(read_settings_files(path_, kFlags, true));
  for (std::size_t i = 0; i < kMostSettingsFiles; ++i)
    write("agent.d/x" + std::to_string(i) + ".conf", "");
  EXPECT_FALSE(read_settings_files(path_, kFlags, true));
}

TEST(SettingsFolderPath, IsBesideTheFile) {
  EXPECT_EQ(settings_folder("/etc/railgauge/agent.conf"), "/etc/railgauge/agent.d");
  EXPECT_EQ(settings_folder("x"), "x.d");
}

TEST(GivenSetting, AFlagBeatsAVariableBeatsTheFile) {
  const SettingsFile file = *parse("name = file\nstate_dir = file\ntls_ca = file\n");
  const Environment environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "RAILGAUGE_NAME" || name == "RAILGAUGE_STATE_DIR") return "variable";
    return std::nullopt;
  };
  const auto by_flag = given_setting("name", "flag", environment, file);
  EXPECT_EQ(by_flag->value, "flag");
  EXPECT_EQ(by_flag->source, "--name");
  const auto by_variable = given_setting("state-dir", std::nullopt, environment, file);
  EXPECT_EQ(by_variable->value, "variable");
  EXPECT_EQ(by_variable->source, "RAILGAUGE_STATE_DIR");
  const auto by_file = given_setting("tls-ca", std::nullopt, environment, file);
  EXPECT_EQ(by_file->value, "file");
  EXPECT_EQ(by_file->source, "agent.conf:3: tls_ca");
  EXPECT_FALSE(given_setting("tls-ca", std::nullopt, environment, {}));
}

}  // namespace
}  // namespace railgauge
