#include "controller/console/page_files.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::console {
namespace {

TEST(PageFiles, AreThoseOfAKnownTypeBelowTheFolder) {
  std::string folder = (std::filesystem::temp_directory_path() / "rg_pages_XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::filesystem::create_directories(folder + "/assets");
  std::ofstream(folder + "/index.html") << "<p>";
  std::ofstream(folder + "/assets/a.css") << "p {}";
  std::ofstream(folder + "/notes.key") << "secret";
  std::ofstream(folder + "/large.js") << std::string(kMostPageBytes + 1, ' ');
  const PageFiles files = read_page_files(folder);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(files.size(), 2U) << "without the unknown type and the file beyond the bound";
  EXPECT_EQ(files.at("/index.html").text, "<p>");
  EXPECT_EQ(files.at("/assets/a.css").type, "text/css; charset=utf-8");
}

TEST(PageFiles, AFolderOfScriptsHasAnyName) {
  const PageFiles files = with_assets_in(
      {{"/index.html",
        {.type = "text/html; charset=utf-8",
         .text = R"(<script src="./assets/a.js"></script><link href="/assets/a.css">)"}},
       {"/assets/a.js", {.type = "text/javascript", .text = "'/assets/'"}},
       {"/about.txt", {.type = "text/plain", .text = "/assets/"}}},
      "x-1");
  EXPECT_EQ(files.size(), 3U);
  EXPECT_EQ(files.at("/index.html").text,
            R"(<script src="./x-1/a.js"></script><link href="/x-1/a.css">)");
  EXPECT_EQ(files.at("/x-1/a.js").text, "'/assets/'") << "scripts stay as they are";
  EXPECT_EQ(files.at("/about.txt").text, "/assets/");
}

TEST(PageFiles, AreNoneWithoutAFolder) {
  EXPECT_TRUE(read_page_files("").empty());
  EXPECT_TRUE(read_page_files("/no/such/folder").empty());
}

}  // namespace
}  // namespace railgauge::console
