#include "controller/cli/archive/matrix_content.h"

#include <zstd.h>

#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>

namespace railgauge::cli {
namespace {

using ::testing::ElementsAre;

std::string frame_of(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

std::string body_of(const std::vector<float>& values) {
  return frame_of({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

TEST(MatrixContent, HasNodesAndZerosForPairsThatWereNotMeasured) {
  api::PairMatrix matrix;
  ASSERT_TRUE(fill_matrix(matrix, frame_of("n1/rxe0:1\nn2/rxe0:1"), body_of({kNone, 1, 2, kNone})));
  EXPECT_THAT(matrix.nodes(), ElementsAre("n1", "n2"));
  EXPECT_THAT(matrix.values(), ElementsAre(0, 1, 2, 0));
}

TEST(MatrixContent, NamesEndpointsWhereANodeHasSeveral) {
  api::PairMatrix matrix;
  ASSERT_TRUE(fill_matrix(matrix, frame_of("n1/a:1\nn1/b:1"), body_of({kNone, 1, 2, kNone})));
  EXPECT_THAT(matrix.nodes(), ElementsAre("n1/a:1", "n1/b:1"));
}

TEST(MatrixContent, IsReadFromSeveralFrames) {
  api::PairMatrix matrix;
  const std::string body = body_of({kNone, 1}) + body_of({2, kNone});
  ASSERT_TRUE(fill_matrix(matrix, frame_of("n1/a:1\nn2/a:1"), body));
  EXPECT_THAT(matrix.values(), ElementsAre(0, 1, 2, 0));
}

TEST(MatrixContent, IsRefusedWhereItIsDamaged) {
  api::PairMatrix matrix;
  const std::string names = frame_of("n1/a:1\nn2/a:1");
  EXPECT_FALSE(fill_matrix(matrix, names, body_of({1, 2, 3})));
  EXPECT_FALSE(fill_matrix(matrix, names, "no frame"));
  EXPECT_FALSE(fill_matrix(matrix, "", body_of({1})));
  std::string cut = body_of({1, 2, 3, 4});
  cut.pop_back();
  EXPECT_FALSE(fill_matrix(matrix, names, cut));
}

}  // namespace
}  // namespace railgauge::cli
