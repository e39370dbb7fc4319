// A session on the fakes, for tests of its reports.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "kernels/fakes/gpu_fixture.h"
#include "kernels/gpu/session/session.h"
#include "kernels/gpu/session/usage.h"

namespace railgauge::gpu {

class GpuSession : public OnFakes {
 protected:
  static KernelInfo info() {
    return InfoBuilder("test.session", 1, "a kernel of this test")
        .apply([](InfoBuilder& builder) { add_session_parameters(builder); })
        .apply([](InfoBuilder& builder) { add_gpus_parameter(builder); })
        .build();
  }
  void SetUp() override {
    OnFakes::SetUp();
    forget_own_number();
  }
  // Opens a session of the endpoint, or of several GPUs when `minimum` is not 0.
  Result<Session> open(const std::map<std::string, std::string>& given,
                       const std::string& endpoint = "gpu0", std::size_t minimum = 0) {
    params_ = *Params::parse(info(), given);
    context_.emplace(Context{params_, recorder_, fake::test_clock(), endpoint, 0, false});
    return minimum == 0 ? Session::open(*context_) : Session::open_several(*context_, minimum);
  }
  Point measured(Session& session, const std::string& pair = "") {
    session.begin_point();
    Point point;
    point.set_pair(pair);
    session.report(*context_, point);
    return told_.points.back();
  }

  Params params_ = *Params::parse(info(), {});
  fake::RankResult told_;
  fake::Recorder recorder_{told_};
  std::optional<Context> context_;
};

}  // namespace railgauge::gpu
