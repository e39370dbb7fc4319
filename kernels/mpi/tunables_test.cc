#include "kernels/mpi/tunables.h"

#include <gmock/gmock.h>

namespace railgauge::mpi {
namespace {

using Given = std::map<std::string, std::string>;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> variables(Flavour flavour, const Given& given, bool on_gpu = false,
                                   std::uint32_t local_rank = 0) {
  const auto settings = settings_of(flavour, given, on_gpu, local_rank);
  if (!settings) return {settings.error().message};
  std::vector<std::string> out;
  for (const Setting& setting : *settings) out.push_back(setting.variable() + "=" + setting.value);
  return out;
}

TEST(Tunables, OfMvapich2GdrAreItsVariables) {
  EXPECT_THAT(variables(Flavour::kMvapich2Gdr,
                        {{"gpudirect", "on"},
                         {"gpudirect_limit", "8KiB"},
                         {"cuda_block", "512KiB"},
                         {"process_to_rail", "0,1"}},
                        true),
              ElementsAre("MV2_USE_CUDA=1", "MV2_USE_GPUDIRECT=1", "MV2_GPUDIRECT_LIMIT=8192",
                          "MV2_CUDA_BLOCK_SIZE=524288", "MV2_PROCESS_TO_RAIL_MAPPING=0:1"));
  EXPECT_THAT(variables(Flavour::kMvapich2Gdr, {{"gpudirect", "off"}}, true),
              ElementsAre("MV2_USE_CUDA=1", "MV2_USE_GPUDIRECT=0"));
}

TEST(Tunables, OfAnOpenMpiWithOpenibAreItsParameters) {
  EXPECT_THAT(variables(Flavour::kOpenMpiOpenib, {{"gpudirect", "on"},
                                                  {"gpudirect_limit", "30000"},
                                                  {"rendezvous", "12KiB"},
                                                  {"hca_list", "mlx5_0:1,mlx5_1:1"},
                                                  {"offload", "off"}}),
              ElementsAre("OMPI_MCA_pml=ob1", "OMPI_MCA_btl_openib_want_cuda_gdr=1",
                          "OMPI_MCA_btl_openib_cuda_rdma_limit=30000",
                          "OMPI_MCA_btl_openib_eager_limit=12288",
                          "OMPI_MCA_btl_openib_if_include=mlx5_0:1,mlx5_1:1",
                          "OMPI_MCA_coll_fca_enable=0", "OMPI_MCA_btl=openib,self,vader"));
}

TEST(Tunables, OfMvapich2NameDevicesByColonsAndThePortOnce) {
  for (const Flavour flavour : {Flavour::kMvapich2, Flavour::kMvapich2Gdr}) {
    EXPECT_THAT(variables(flavour, {{"rendezvous", "16KiB"}, {"hca_list", "mlx5_0:1,mlx5_1:1"}}),
                ElementsAre("MV2_IBA_EAGER_THRESHOLD=16384", "MV2_IBA_HCA=mlx5_0:mlx5_1",
                            "MV2_DEFAULT_PORT=1"));
    EXPECT_THAT(variables(flavour, {{"hca_list", "mlx5_0,mlx5_1"}}),
                ElementsAre("MV2_IBA_HCA=mlx5_0:mlx5_1"));
    for (const char* differ : {"mlx5_0:1,mlx5_1:2", "mlx5_0:1,mlx5_1"}) {
      const auto settings = settings_of(flavour, {{"hca_list", differ}}, false, 0);
      ASSERT_FALSE(settings) << differ;
      EXPECT_EQ(settings.error().code, Code::kInvalidArgument);
      EXPECT_THAT(settings.error().message, HasSubstr("one port for all devices"));
    }
    EXPECT_FALSE(settings_of(flavour, {{"hca_list", "mlx5_0:"}}, false, 0));
    EXPECT_FALSE(settings_of(flavour, {{"hca_list", "mlx5_0:1:mlx5_1:1"}}, false, 0));
  }
}

TEST(Tunables, OfLibfabricAndHcollAreTheirNames) {
  EXPECT_THAT(variables(Flavour::kMpichOfi, {{"transports", "verbs"}}),
              ElementsAre("FI_PROVIDER=verbs"));
  EXPECT_THAT(variables(Flavour::kOpenMpiUcx, {{"offload", "on"}}),
              ElementsAre("OMPI_MCA_pml=ucx", "OMPI_MCA_coll_hcoll_enable=1"));
}

TEST(Tunables, OverUcxAreUcxsVariables) {
  const Given given{{"gpudirect", "off"},
                    {"rendezvous", "64KiB"},
                    {"hca_list", "mlx5_0:1"},
                    {"transports", "rc,cuda_copy,gdr_copy"}};
  EXPECT_THAT(variables(Flavour::kMpichUcx, given),
              ElementsAre("UCX_IB_GPU_DIRECT_RDMA=n", "UCX_RNDV_THRESH=65536",
                          "UCX_NET_DEVICES=mlx5_0:1", "UCX_TLS=rc,cuda_copy,gdr_copy"));
  EXPECT_THAT(variables(Flavour::kOpenMpiUcx, given),
              ElementsAre("OMPI_MCA_pml=ucx", "UCX_IB_GPU_DIRECT_RDMA=n", "UCX_RNDV_THRESH=65536",
                          "UCX_NET_DEVICES=mlx5_0:1", "UCX_TLS=rc,cuda_copy,gdr_copy"));
}

TEST(Tunables, NameTheLayerSoThatNoOtherTakesItsPlace) {
  EXPECT_THAT(variables(Flavour::kOpenMpiOb1, {{"layer", "ob1"}, {"transports", "self,tcp"}}),
              ElementsAre("OMPI_MCA_pml=ob1", "OMPI_MCA_btl=self,tcp"));
  // Also where only another tunable names the layer.
  EXPECT_THAT(variables(Flavour::kOpenMpiOb1, {{"transports", "self,tcp"}}),
              ElementsAre("OMPI_MCA_pml=ob1", "OMPI_MCA_btl=self,tcp"));
  EXPECT_THAT(variables(Flavour::kOpenMpiOpenib, {{"layer", "auto"}, {"hca_list", "mlx5_0"}}),
              ElementsAre("OMPI_MCA_pml=ob1", "OMPI_MCA_btl_openib_if_include=mlx5_0",
                          "OMPI_MCA_btl=openib,self,vader"));
  EXPECT_THAT(variables(Flavour::kOpenMpiOb1, {{"layer", "ob1"}}),
              ElementsAre("OMPI_MCA_pml=ob1", "OMPI_MCA_btl=^openib,uct,ofi"));
  EXPECT_THAT(variables(Flavour::kOpenMpiOpenib, {{"layer", "openib"}}),
              ElementsAre("OMPI_MCA_pml=ob1", "OMPI_MCA_btl=openib,self,vader"));
  EXPECT_THAT(variables(Flavour::kOpenMpiUcx, {{"layer", "ucx"}}), ElementsAre("OMPI_MCA_pml=ucx"));
}

TEST(Tunables, TakeOneSidedCallsAlongWithTheLayer) {
  EXPECT_EQ(one_sided_setting(Flavour::kOpenMpiUcx, "auto"), std::nullopt);
  EXPECT_EQ(one_sided_setting(Flavour::kOpenMpiUcx, "ucx")->variable(), "OMPI_MCA_osc");
  EXPECT_EQ(one_sided_setting(Flavour::kOpenMpiOb1, "ob1")->value, "^ucx");
}

TEST(Tunables, GiveEachProcessOfANodeItsRail) {
  const Given given{{"process_to_rail", "mlx5_0:1,mlx5_3:1"}};
  EXPECT_THAT(variables(Flavour::kOpenMpiUcx, given, false, 0),
              ElementsAre("OMPI_MCA_pml=ucx", "UCX_NET_DEVICES=mlx5_0:1"));
  EXPECT_THAT(variables(Flavour::kOpenMpiUcx, given, false, 3),
              ElementsAre("OMPI_MCA_pml=ucx", "UCX_NET_DEVICES=mlx5_3:1"));
}

TEST(Tunables, ThatAnImplementationLacksAreErrorsAndNeverIgnored) {
  EXPECT_THAT(variables(Flavour::kOpenMpiUcx, {{"gpudirect_limit", "8KiB"}}),
              ElementsAre("parameter gpudirect_limit: Open MPI over UCX has nothing of the kind; "
                          "leave it out"));
  EXPECT_THAT(variables(Flavour::kMpichOfi, {{"gpudirect", "on"}})[0], HasSubstr("nothing of"));
  EXPECT_THAT(variables(Flavour::kOpenMpiOb1, {{"hca_list", "mlx5_0"}})[0], HasSubstr("nothing"));
  for (const char* parameter : {"hca_list", "transports", "rendezvous", "process_to_rail"})
    EXPECT_THAT(variables(Flavour::kMpichOther, {{parameter, "1"}})[0],
                HasSubstr("MPICH without UCX and libfabric has nothing"));
  EXPECT_THAT(variables(Flavour::kOpenMpiUcx, {{"hca_list", "a"}, {"process_to_rail", "b"}})[0],
              HasSubstr("name one"));
  const auto settings = settings_of(Flavour::kOpenMpiOpenib, {{"offload", "on"}}, false, 0);
  ASSERT_TRUE(settings);
  EXPECT_TRUE(check_installed(*settings, [](const std::string&) { return true; }));
  const Status lacking =
      check_installed(*settings, [](const std::string& name) { return name != "coll_fca_enable"; });
  ASSERT_FALSE(lacking);
  EXPECT_THAT(lacking.error().message, HasSubstr("has no parameter coll_fca_enable"));
  EXPECT_THAT(open_mpi_parameters(),
              ::testing::IsSupersetOf({"pml", "btl", "coll_fca_enable", "btl_openib_if_include"}));
}

TEST(Tunables, TheRailOfNumberZeroIsNamedAsAnyOther) {
  EXPECT_THAT(variables(Flavour::kMvapich2, {{"process_to_rail", "0"}}),
              ElementsAre("MV2_PROCESS_TO_RAIL_MAPPING=0"));
}

TEST(Tunables, UnsetSetNothing) {
  const Given unset{{"gpudirect", "default"}, {"gpudirect_limit", "0"}, {"cuda_block", "0"},
                    {"rendezvous", "0"},      {"hca_list", ""},         {"process_to_rail", ""},
                    {"transports", ""},       {"offload", "default"}};
  for (const Flavour flavour :
       {Flavour::kMvapich2, Flavour::kMpichOfi, Flavour::kMpichOther, Flavour::kOpenMpiOb1})
    EXPECT_THAT(variables(flavour, unset), ElementsAre());
}

TEST(Tunables, TakeNamesAndNumbersOnly) {
  for (const char* value : {"mlx5_0;reboot", "a b", "$(x)", "a=b", "a\nb"})
    EXPECT_THAT(variables(Flavour::kOpenMpiUcx, {{"hca_list", value}})[0],
                HasSubstr("holds more than names and numbers"));
}

TEST(Flavour, IsWhatTheLibrarySaysAndHas) {
  const auto all = [](const std::string&) { return true; };
  const auto none = [](const std::string&) { return false; };
  const Given open{{"mpi_version", "Open MPI 4.1.4"}};
  EXPECT_EQ(flavour_of(open, "auto", all), Flavour::kOpenMpiUcx);
  EXPECT_EQ(flavour_of(open, "openib", all), Flavour::kOpenMpiOpenib);
  EXPECT_EQ(flavour_of(open, "ob1", all), Flavour::kOpenMpiOb1);
  EXPECT_EQ(flavour_of(open, "auto", none), Flavour::kOpenMpiOb1);
  EXPECT_FALSE(flavour_of(open, "ucx", none));
  EXPECT_EQ(flavour_of({{"mpi_version", "MPICH 4.0.2"}, {"mpi_device", "ch4:ofi"}}, "auto", none),
            Flavour::kMpichOfi);
  EXPECT_EQ(flavour_of({{"mpi_version", "MPICH 4.0.2"}, {"mpi_device", "ch4:ucx"}}, "auto", none),
            Flavour::kMpichUcx);
  for (const char* device : {"ch3:nemesis", "ch3:sock", ""})
    EXPECT_EQ(flavour_of({{"mpi_version", "MPICH 4.0.2"}, {"mpi_device", device}}, "auto", none),
              Flavour::kMpichOther)
        << device;
  EXPECT_EQ(flavour_of({{"mpi_version", "MVAPICH2-GDR 2.3.7"}}, "auto", none),
            Flavour::kMvapich2Gdr);
  EXPECT_FALSE(flavour_of({{"mpi_version", "MPICH 4.0.2"}}, "openib", none));
}

}  // namespace
}  // namespace railgauge::mpi
