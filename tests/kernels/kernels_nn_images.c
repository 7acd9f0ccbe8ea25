/* kernels_nn_images.c - images padded, resampled and taken in windows against what PyTorch 2.15
 * gives on a CPU. A tolerance is relative to the largest number of a result; 0 asks for the same
 * bits. */
#include "tests/kernels/kernels_nn_values.h"

START_TEST(images_padded) {
  start(1);
  RUN("reflection_pad2d", TYPED(FNZ_U8, S(1, 3, 2), 0, 1, 2, 3, 4, 5), INTS(1, 1, 2, 0));
  HAS(0, S(1, 5, 4), FNZ_U8, 0, 5, 4, 5, 4, 3, 2, 3, 2, 1, 0, 1, 0, 3, 2, 3, 2, 5, 4, 5, 4);
  RUN("reflection_pad2d", T(S(0, 1, 2, 2), 0), INTS(1, 1, 1, 1));
  HAS(0, S(0, 1, 4, 4), FNZ_F32, 0, 0);
  FAILS(ctx, "BOUNDS", APPLY("reflection_pad1d", T(S(2, 3), 0, 1, 2, 3, 4, 5), INTS(3, 1)));
  FAILS(ctx, "BOUNDS", APPLY("replication_pad1d", T(S(1, 2, 3), 0, 1, 2, 3, 4, 5), INTS(-2, -1)));
  FAILS(ctx, "BOUNDS", APPLY("reflection_pad2d", T(S(2, 3), 0, 1, 2, 3, 4, 5), INTS(1, 1, 1, 1)));
  FAILS(ctx, "BOUNDS", APPLY("reflection_pad1d", T(S(2, 3), 0, 1, 2, 3, 4, 5), INTS(1, 1, 1, 1)));
  FAILS(ctx, "TYPE",
        APPLY("replication_pad2d", TYPED(FNZ_BOOL, S(1, 2, 2), 1, 1, 1, 1), INTS(1, 1, 1, 1)));
  finish();
}
END_TEST

START_TEST(windows_as_columns) {
  start(1);
  RUN("im2col", T(S(0, 1, 2, 2), 0), INTS(2, 2), INTS(1, 1), INTS(0, 0), INTS(1, 1));
  HAS(0, S(0, 4, 1), FNZ_F32, 0, 0);
  finish();
}
END_TEST

START_TEST(channels_shuffled_and_planes_turned) {
  start(1);
  RUN("channel_shuffle", T(S(2, 0, 3), 0), I(1));
  HAS(0, S(2, 0, 3), FNZ_F32, 0, 0);
  finish();
}
END_TEST

START_TEST(windows_that_do_not_fit) {
  start(1);
  FAILS(ctx, "TYPE",
        APPLY("col2im",
              TYPED(FNZ_I32, S(4, 4), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
              INTS(3, 3), INTS(2, 2), INTS(1, 1), INTS(0, 0), INTS(1, 1)));
  FAILS(ctx, "TYPE",
        APPLY("im2col", TYPED(FNZ_I32, S(1, 3, 3), 0, 1, 2, 3, 4, 5, 6, 7, 8), INTS(2, 2),
              INTS(1, 1), INTS(0, 0), INTS(1, 1)));
  FAILS(ctx, "BOUNDS",
        APPLY("im2col", T(S(1, 3, 3), 0, 1, 2, 3, 4, 5, 6, 7, 8), INTS(4, 2), INTS(1, 1),
              INTS(0, 0), INTS(1, 1)));
  FAILS(ctx, "BOUNDS",
        APPLY("im2col", T(S(1, 3, 3), 0, 1, 2, 3, 4, 5, 6, 7, 8), INTS(2, 2), INTS(1, 0),
              INTS(0, 0), INTS(1, 1)));
  FAILS(ctx, "BOUNDS",
        APPLY("col2im",
              T(S(1, 4, 5), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19),
              INTS(3, 3), INTS(2, 2), INTS(1, 1), INTS(0, 0), INTS(1, 1)));
  FAILS(ctx, "BOUNDS",
        APPLY("col2im",
              T(S(1, 5, 4), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19),
              INTS(3, 3), INTS(2, 2), INTS(1, 1), INTS(0, 0), INTS(1, 1)));
  FAILS(ctx, "BOUNDS",
        APPLY("channel_shuffle", T(S(1, 6, 2), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), I(4)));
  FAILS(ctx, "BOUNDS",
        APPLY("channel_shuffle", T(S(2, 6), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), I(2)));
  FAILS(ctx, "BOUNDS", APPLY("rot90", T(S(2, 3), 0, 1, 2, 3, 4, 5), I(1), INTS(0, 0)));
  FAILS(ctx, "BOUNDS", APPLY("rot90", T(S(3), 0, 1, 2), I(1), INTS(0, 1)));
  finish();
}
END_TEST

START_TEST(images_resampled_bilinearly) {
  start(1);
  RUN("upsample_bilinear2d",
      TYPED(FNZ_BF16, S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2),
      INTS(4, 4), B(false));
  HAS(0, S(1, 1, 4, 4), FNZ_BF16, 0.008, 2, 0.25, 3, 2.5, -0.8125, 1.03125, 1.90625, -0.46875, -1,
      -0.09375, 0.40625, -2.15625, 1.5, -2.75, -1, -2);
  finish();
}
END_TEST

START_TEST(images_resampled_bicubically) {
  start(1);
  FAILS(ctx, "BOUNDS",
        APPLY("upsample_bilinear2d",
              T(S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2),
              INTS(0, 3), B(false)));
  FAILS(ctx, "BOUNDS", APPLY("upsample_bilinear2d", T(S(3), 0.75, -2, 0.25), INTS(2, 3), B(false)));
  finish();
}
END_TEST

static fnz_arg image(void) {
  return T(S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2);
}

static fnz_arg places_in_it(void) {
  return T(S(1, 2, 3, 2), -1, -1, 0x1.3333340000000p-2, -0x1.99999a0000000p-3, 1, 1,
           -0x1.6666660000000p+0, 0x1.3333340000000p-1, 0x1.99999a0000000p-4, 0x1.2666660000000p+1,
           0.25, 0.5);
}

START_TEST(images_at_given_places) {
  start(1);
  const fnz_arg x = image(), grid = places_in_it();
  RUN("grid_sampler_2d", x, grid, I(0), I(0), B(false));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 0.5, 0x1.83d70c0000000p+0, -0.5, 0, 0, -0.4375);
  RUN("grid_sampler_2d", x, grid, I(0), I(0), B(true));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 0x1.951eb60000000p+0, -2, -0x1.47ae140000000p-5, 0,
      0.03125);
  RUN("grid_sampler_2d", x, grid, I(0), I(1), B(false));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 0x1.83d70c0000000p+0, -2, 0x1.1999a00000000p+0,
      -0x1.8666640000000p+0, -0.4375);
  RUN("grid_sampler_2d", x, grid, I(0), I(1), B(true));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 0x1.951eb60000000p+0, -2, -0x1.9999800000000p-4,
      -0x1.9cccca0000000p+0, 0.03125);
  RUN("grid_sampler_2d", x, grid, I(0), I(2), B(false));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 0x1.83d70c0000000p+0, -2, 0x1.28f6200000000p-4,
      0x1.b51eb60000000p+0, -0.4375);
  RUN("grid_sampler_2d", x, grid, I(0), I(2), B(true));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 0x1.951eb60000000p+0, -2, -0x1.570a3e0000000p-1,
      0x1.8c28f60000000p+0, 0.03125);
  RUN("grid_sampler_2d", x, grid, I(1), I(0), B(false));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 1.25, 0, 0, 0, -1);
  RUN("grid_sampler_2d", x, grid, I(1), I(0), B(true));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 1.25, -2, 0, 0, -1);
  RUN("grid_sampler_2d", x, grid, I(1), I(1), B(false));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 1.25, -2, 1.5, -1, -1);
  RUN("grid_sampler_2d", x, grid, I(1), I(1), B(true));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 1.25, -2, 1.5, -1, -1);
  RUN("grid_sampler_2d", x, grid, I(1), I(2), B(false));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 1.25, -2, 1.5, 1.25, -1);
  RUN("grid_sampler_2d", x, grid, I(1), I(2), B(true));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 1.25, -2, -2.75, 1.25, -1);
  finish();
}
END_TEST

START_TEST(images_at_given_places_bicubically) {
  start(1);
  const fnz_arg x = image(), grid = places_in_it();
  RUN("grid_sampler_2d", x, grid, I(2), I(0), B(false));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 0x1.afe0000000000p-1, 0x1.e8e12e0000000p+0,
      -0x1.06c0000000000p-1, -0x1.1658320000000p-3, 0, -0x1.5080000000000p-1);
  RUN("grid_sampler_2d", x, grid, I(2), I(0), B(true));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 0x1.f4af0c0000000p+0, -2, -0x1.17742c0000000p-8,
      0x1.859cba0000000p-3, -0x1.5380000000000p-7);
  RUN("grid_sampler_2d", x, grid, I(2), I(1), B(false));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 0x1.5178000000000p+1, 0x1.c4821c0000000p+0,
      -0x1.0630000000000p+1, 0x1.2441960000000p+0, -0x1.942d180000000p+0, -0x1.1a80000000000p-1);
  RUN("grid_sampler_2d", x, grid, I(2), I(1), B(true));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 0x1.e2d4d80000000p+0, -2, -0x1.5235040000000p-2,
      -0x1.b9bcfe0000000p+0, 0x1.90f4000000000p-4);
  RUN("grid_sampler_2d", x, grid, I(2), I(2), B(false));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 0x1.afe0000000000p+1, 0x1.c4821c0000000p+0,
      -0x1.06c0000000000p+1, 0x1.4daf740000000p-4, 0x1.318b9a0000000p+1, -0x1.1a80000000000p-1);
  RUN("grid_sampler_2d", x, grid, I(2), I(2), B(true));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 0x1.ec2c040000000p+0, -2, -0x1.bf18440000000p-1,
      0x1.3210da0000000p+1, -0x1.4258000000000p-3);
  RUN("grid_sampler", x, grid, I(0), I(1), B(true));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 0x1.951eb60000000p+0, -2, -0x1.9999800000000p-4,
      -0x1.9cccca0000000p+0, 0.03125);
  FAILS(ctx, "TYPE",
        APPLY("grid_sampler_2d", x,
              TYPED(FNZ_F64, S(1, 2, 3, 2), -1, -1, 0x1.3333340000000p-2, -0x1.99999a0000000p-3, 1,
                    1, -0x1.6666660000000p+0, 0x1.3333340000000p-1, 0x1.99999a0000000p-4,
                    0x1.2666660000000p+1, 0.25, 0.5),
              I(0), I(0), B(false)));
  FAILS(ctx, "BOUNDS", APPLY("grid_sampler_2d", T(S(1, 1, 0, 3), 0), grid, I(0), I(0), B(false)));
  FAILS(ctx, "BOUNDS",
        APPLY("grid_sampler_2d",
              T(S(2, 1, 3, 3), 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), grid, I(0),
              I(0), B(false)));
  finish();
}
END_TEST

SUITE_PART(kernels_nn_images, images_padded, windows_as_columns, images_at_given_places,
           channels_shuffled_and_planes_turned, windows_that_do_not_fit,
           images_resampled_bilinearly, images_resampled_bicubically,
           images_at_given_places_bicubically)
