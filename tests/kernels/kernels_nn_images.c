/* kernels_nn_images.c - images padded, resampled and taken in windows against what PyTorch 2.15
 * gives on a CPU. A tolerance is relative to the largest number of a result; 0 asks for the same
 * bits. */
#include "tests/kernels/kernels_nn_values.h"

START_TEST(images_padded) {
  start(1);
  RUN("reflection_pad1d", T(S(2, 3), 0, 1, 2, 3, 4, 5), INTS(2, 1));
  HAS(0, S(2, 6), FNZ_F32, 0, 2, 1, 0, 1, 2, 1, 5, 4, 3, 4, 5, 4);
  RUN("reflection_pad1d", T(S(1, 2, 3), 0, 1, 2, 3, 4, 5), INTS(-1, 2));
  HAS(0, S(1, 2, 4), FNZ_F32, 0, 1, 2, 1, 0, 4, 5, 4, 3);
  RUN("reflection_pad2d", T(S(1, 1, 2, 3), 0, 1, 2, 3, 4, 5), INTS(2, 1, 1, 0));
  HAS(0, S(1, 1, 3, 6), FNZ_F32, 0, 5, 4, 3, 4, 5, 4, 2, 1, 0, 1, 2, 1, 5, 4, 3, 4, 5, 4);
  RUN("reflection_pad2d", TYPED(FNZ_U8, S(1, 3, 2), 0, 1, 2, 3, 4, 5), INTS(1, 1, 2, 0));
  HAS(0, S(1, 5, 4), FNZ_U8, 0, 5, 4, 5, 4, 3, 2, 3, 2, 1, 0, 1, 0, 3, 2, 3, 2, 5, 4, 5, 4);
  RUN("reflection_pad3d", T(S(1, 1, 2, 2, 2), 0, 1, 2, 3, 4, 5, 6, 7), INTS(1, 1, 1, 0, 1, 1));
  HAS(0, S(1, 1, 4, 3, 4), FNZ_F32, 0, 7, 6, 7, 6, 5, 4, 5, 4, 7, 6, 7, 6, 3, 2, 3, 2, 1, 0, 1, 0,
      3, 2, 3, 2, 7, 6, 7, 6, 5, 4, 5, 4, 7, 6, 7, 6, 3, 2, 3, 2, 1, 0, 1, 0, 3, 2, 3, 2);
  RUN("replication_pad1d", TYPED(FNZ_BF16, S(1, 2, 3), 0, 1, 2, 3, 4, 5), INTS(2, -1));
  HAS(0, S(1, 2, 4), FNZ_BF16, 0, 0, 0, 0, 1, 3, 3, 3, 4);
  RUN("replication_pad2d", T(S(1, 1, 2, 3), 0, 1, 2, 3, 4, 5), INTS(2, 1, 3, -1));
  HAS(0, S(1, 1, 4, 6), FNZ_F32, 0, 0, 0, 0, 1, 2, 2, 0, 0, 0, 1, 2, 2, 0, 0, 0, 1, 2, 2, 0, 0, 0,
      1, 2, 2);
  RUN("replication_pad2d", TYPED(FNZ_I64, S(1, 2, 3), 0, 1, 2, 3, 4, 5), INTS(0, 1, 1, 1));
  HAS(0, S(1, 4, 4), FNZ_I64, 0, 0, 1, 2, 2, 0, 1, 2, 2, 3, 4, 5, 5, 3, 4, 5, 5);
  RUN("replication_pad3d", T(S(1, 2, 2, 2), 0, 1, 2, 3, 4, 5, 6, 7), INTS(1, 0, 0, 2, 1, 1));
  HAS(0, S(1, 4, 4, 3), FNZ_F32, 0, 0, 0, 1, 2, 2, 3, 2, 2, 3, 2, 2, 3, 0, 0, 1, 2, 2, 3, 2, 2, 3,
      2, 2, 3, 4, 4, 5, 6, 6, 7, 6, 6, 7, 6, 6, 7, 4, 4, 5, 6, 6, 7, 6, 6, 7, 6, 6, 7);
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
  RUN("im2col", T(S(1, 2, 2, 3), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), INTS(2, 2), INTS(1, 1),
      INTS(0, 0), INTS(1, 1));
  HAS(0, S(1, 8, 2), FNZ_F32, 0, 0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 8, 9, 10, 10, 11);
  RUN("im2col", T(S(1, 3, 3), 0, 1, 2, 3, 4, 5, 6, 7, 8), INTS(2, 2), INTS(2, 1), INTS(1, 0),
      INTS(2, 1));
  HAS(0, S(4, 4), FNZ_F32, 0, 0, 0, 3, 4, 0, 0, 4, 5, 3, 4, 0, 0, 4, 5, 0, 0);
  RUN("im2col", TYPED(FNZ_BOOL, S(1, 2, 2), 1, 1, 1, 1), INTS(1, 2), INTS(1, 1), INTS(0, 1),
      INTS(1, 2));
  HAS(0, S(2, 4), FNZ_BOOL, 0, 0, 1, 0, 1, 1, 0, 1, 0);
  RUN("im2col", T(S(0, 1, 2, 2), 0), INTS(2, 2), INTS(1, 1), INTS(0, 0), INTS(1, 1));
  HAS(0, S(0, 4, 1), FNZ_F32, 0, 0);
  finish();
}
END_TEST

START_TEST(columns_as_windows) {
  start(1);
  RUN("col2im", T(S(1, 4, 4), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), INTS(3, 3),
      INTS(2, 2), INTS(1, 1), INTS(0, 0), INTS(1, 1));
  HAS(0, S(1, 1, 3, 3), FNZ_F32, 0, 0, 5, 5, 10, 30, 20, 10, 25, 15);
  RUN("col2im", T(S(8, 2), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), INTS(2, 3),
      INTS(2, 2), INTS(1, 1), INTS(0, 0), INTS(1, 1));
  HAS(0, S(2, 2, 3), FNZ_F32, 0, 0, 3, 3, 4, 11, 7, 8, 19, 11, 12, 27, 15);
  RUN("col2im",
      TYPED(FNZ_F64, S(1, 4, 9), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
            19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35),
      INTS(3, 3), INTS(2, 2), INTS(2, 2), INTS(1, 1), INTS(1, 1));
  HAS(0, S(1, 1, 3, 3), FNZ_F64, 0, 4, 17, 13, 26, 70, 44, 22, 53, 31);
  RUN("col2im",
      TYPED(FNZ_BOOL, S(8, 4), 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
            1, 1, 1, 1, 1, 1, 1, 1, 1),
      INTS(3, 3), INTS(2, 2), INTS(1, 1), INTS(0, 0), INTS(1, 1));
  HAS(0, S(2, 3, 3), FNZ_BOOL, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
  RUN("col2im",
      T(S(1, 4, 16), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
        22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44,
        45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63),
      INTS(5, 4), INTS(2, 2), INTS(3, 2), INTS(1, 1), INTS(1, 1));
  HAS(0, S(1, 1, 5, 4), FNZ_F32, 0, 5, 26, 28, 22, 9, 34, 36, 26, 46, 124, 128, 80, 37, 90, 92, 54,
      41, 98, 100, 58);
  RUN("col2im", TYPED(FNZ_F16, S(4, 4), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
      INTS(3, 3), INTS(2, 2), INTS(1, 1), INTS(0, 0), INTS(1, 1));
  HAS(0, S(1, 3, 3), FNZ_F16, 0, 0, 5, 5, 10, 30, 20, 10, 25, 15);
  finish();
}
END_TEST

START_TEST(channels_shuffled_and_planes_turned) {
  start(1);
  RUN("channel_shuffle", T(S(1, 6, 2), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), I(3));
  HAS(0, S(1, 6, 2), FNZ_F32, 0, 0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11);
  RUN("channel_shuffle",
      TYPED(FNZ_I32, S(2, 4, 1, 2), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), I(2));
  HAS(0, S(2, 4, 1, 2), FNZ_I32, 0, 0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15);
  RUN("channel_shuffle", T(S(2, 0, 3), 0), I(1));
  HAS(0, S(2, 0, 3), FNZ_F32, 0, 0);
  RUN("rot90", T(S(2, 3), 0, 1, 2, 3, 4, 5));
  HAS(0, S(3, 2), FNZ_F32, 0, 2, 5, 1, 4, 0, 3);
  RUN("rot90", T(S(2, 3), 0, 1, 2, 3, 4, 5), I(2));
  HAS(0, S(2, 3), FNZ_F32, 0, 5, 4, 3, 2, 1, 0);
  RUN("rot90", T(S(2, 3), 0, 1, 2, 3, 4, 5), I(-1));
  HAS(0, S(3, 2), FNZ_F32, 0, 3, 0, 4, 1, 5, 2);
  RUN("rot90", T(S(2, 3), 0, 1, 2, 3, 4, 5), I(4));
  HAS(0, S(2, 3), FNZ_F32, 0, 0, 1, 2, 3, 4, 5);
  RUN("rot90", TYPED(FNZ_BOOL, S(2, 1, 3), 0, 1, 1, 1, 1, 1), I(3), INTS(2, 0));
  HAS(0, S(3, 1, 2), FNZ_BOOL, 0, 1, 1, 1, 1, 0, 1);
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

START_TEST(images_resampled) {
  start(1);
  RUN("upsample_linear1d", T(S(1, 2, 4), 2.25, 1.25, -2.75, -1.75, 0.5, 0.5, 2.25, -0.25), INTS(6),
      B(false));
  HAS(0, S(1, 2, 6), FNZ_F32, 1e-06, 2.25, 1.75, 0x1.2aaaa00000000p-1, -0x1.0aaab00000000p+1, -2.25,
      -1.75, 0.5, 0.5, 0x1.95555a0000000p-1, 0x1.f5555a0000000p+0, 1, -0.25);
  RUN("upsample_linear1d", T(S(1, 2, 4), 2.75, -0.5, -2.25, 1.25, -1.5, -1, -3, 0), INTS(3),
      B(true));
  HAS(0, S(1, 2, 3), FNZ_F32, 1e-06, 2.75, -1.375, 1.25, -1.5, -2, 0);
  RUN("upsample_linear1d.vec", T(S(1, 1, 3), -0.75, 2, -2.5), INTS(5), B(false), NONE);
  HAS(0, S(1, 1, 5), FNZ_F32, 1e-06, -0.75, 0x1.66666c0000000p-2, 2, -0x1.66667c0000000p-1, -2.5);
  finish();
}
END_TEST

START_TEST(images_resampled_bilinearly) {
  start(1);
  RUN("upsample_bilinear2d",
      T(S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2), INTS(5, 6),
      B(false));
  HAS(0, S(1, 1, 5, 6), FNZ_F32, 1e-06, 2, 1.125, 0x1.6aaab20000000p-1, 0x1.4555560000000p+1, 2.75,
      2.5, 0x1.9999840000000p-3, 0x1.e666620000000p-2, 0x1.0222260000000p+0, 0x1.0555560000000p+1,
      0x1.7333300000000p+0, 0x1.33332c0000000p-1, -2.5, -0.5, 0x1.7555540000000p+0,
      0x1.4aaaac0000000p+0, -0.5, -2.25, -0x1.9999000000000p-4, -0x1.2666680000000p-1,
      -0x1.c888980000000p-1, -0x1.08889e0000000p-2, -0x1.19999c0000000p+0, -0x1.0ccccc0000000p+1,
      1.5, -0.625, -0x1.3aaaaa0000000p+1, -0x1.4aaaac0000000p+0, -1.5, -2);
  RUN("upsample_bilinear2d",
      T(S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2), INTS(5, 6),
      B(true));
  HAS(0, S(1, 1, 5, 6), FNZ_F32, 1e-06, 2, 0x1.e666640000000p-1, 0x1.99999e0000000p-1,
      0x1.39999a0000000p+1, 0x1.6666660000000p+1, 2.5, -0.25, 0x1.b333340000000p-2, 1.125, 1.875,
      0x1.5333300000000p+0, 0.125, -2.5, -0x1.9999800000000p-4, 0x1.7333340000000p+0,
      0x1.4ccccc0000000p+0, -0x1.3333600000000p-3, -2.25, -0.5, -0x1.2666660000000p-1,
      -0x1.e666620000000p-2, -0x1.9999800000000p-6, -0x1.8cccd40000000p-1, -2.125, 1.5,
      -0x1.0cccd00000000p+0, -0x1.3333320000000p+1, -0x1.5999980000000p+0, -0x1.6666680000000p+0,
      -2);
  RUN("upsample_bilinear2d",
      T(S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2), INTS(2, 8),
      B(false), F(1.5), NONE);
  HAS(0, S(1, 1, 2, 8), FNZ_F32, 1e-06, 2, 1.5625, 0.6875, 0.9375, 2.3125, 2.875, 2.625, 2.5, -0.25,
      0.03125, 0.59375, 1.1875, 1.8125, 1.625, 0.625, 0.125);
  RUN("upsample_bilinear2d",
      TYPED(FNZ_F64, S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2),
      INTS(7, 2), B(false));
  HAS(0, S(1, 1, 7, 2), FNZ_F64, 1e-15, 1.125, 2.75, 0x1.c924924924926p-1, 0x1.2492492492494p+1,
      0x1.924924924924cp-3, 0x1.c924924924928p-1, -0.5, -0.5, -0x1.1b6db6db6db6ep-1,
      -0x1.db6db6db6db6cp-1, -0x1.36db6db6db6dcp-1, -0x1.5b6db6db6db6dp+0, -0.625, -1.5);
  RUN("upsample_bilinear2d",
      TYPED(FNZ_BF16, S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2),
      INTS(4, 4), B(false));
  HAS(0, S(1, 1, 4, 4), FNZ_BF16, 0.008, 2, 0.25, 3, 2.5, -0.8125, 1.03125, 1.90625, -0.46875, -1,
      -0.09375, 0.40625, -2.15625, 1.5, -2.75, -1, -2);
  RUN("upsample_bilinear2d.vec",
      T(S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2), INTS(1, 1),
      B(true), NONE);
  HAS(0, S(1, 1, 1, 1), FNZ_F32, 1e-06, 2);
  RUN("upsample_bilinear2d",
      T(S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2), INTS(3, 4),
      B(false));
  HAS(0, S(1, 1, 3, 4), FNZ_F32, 0, 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2);
  RUN("upsample_trilinear3d",
      T(S(1, 1, 2, 2, 3), 2, -2.25, -2.25, -0.5, -3, 1, 0.25, -0.5, 0, 0, 1.25, 2.5), INTS(3, 2, 4),
      B(false));
  HAS(0, S(1, 1, 3, 2, 4), FNZ_F32, 1e-06, 2, -0.65625, -2.25, -2.25, -0.5, -2.0625, -1.5, 1, 1.125,
      -0.4375, -1.28125, -1.125, -0.25, -0x1.4800000000000p-1, 0.109375, 1.75, 0.25, -0.21875,
      -0.3125, 0, 0, 0.78125, 1.71875, 2.5);
  finish();
}
END_TEST

START_TEST(images_resampled_bicubically) {
  start(1);
  RUN("upsample_bicubic2d",
      T(S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2), INTS(5, 6),
      B(false));
  HAS(0, S(1, 1, 5, 6), FNZ_F32, 1e-06, 0x1.50dfb60000000p+1, 0x1.fe0c4a0000000p-1,
      0x1.7abd960000000p-2, 0x1.5aef560000000p+1, 0x1.ac645c0000000p+1, 0x1.7803340000000p+1,
      -0x1.04be660000000p-3, 0x1.7926ce0000000p-2, 0x1.5f8f760000000p+0, 0x1.3a362c0000000p+1,
      0x1.b239420000000p+0, 0x1.ea6c840000000p-2, -0x1.6c71cc0000000p+1, -0x1.e800000000000p-2,
      0x1.df42580000000p+0, 0x1.a8bd9c0000000p+0, -0x1.0c00000000000p-1, -0x1.46e38c0000000p+1,
      -0x1.4894120000000p-2, -0x1.8774b60000000p-1, -0x1.d6b9700000000p-1, -0x1.76e52e0000000p-3,
      -0x1.4662440000000p+0, -0x1.507b140000000p+1, 0x1.292ca00000000p+1, -0x1.a35c2e0000000p-1,
      -0x1.a6e1cc0000000p+1, -0x1.842a9c0000000p+0, -0x1.69f7d20000000p+0, -0x1.055f5c0000000p+1);
  RUN("upsample_bicubic2d",
      T(S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2), INTS(4, 2),
      B(true));
  HAS(0, S(1, 1, 4, 2), FNZ_F32, 1e-06, 2, 2.5, -0x1.871c6c0000000p+0, -0x1.90979c0000000p-1,
      -0x1.bda1320000000p+0, -0x1.597b400000000p+1, 1.5, -2);
  RUN("upsample_bicubic2d",
      TYPED(FNZ_F64, S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2),
      INTS(5, 3), B(false));
  HAS(0, S(1, 1, 5, 3), FNZ_F64, 4e-15, 0x1.06419ca252adcp+1, 0x1.73fbe76c8b435p+0,
      0x1.85037d3b3d841p+1, 0x1.86226fce3dc15p-4, 0x1.0490624dd2f1cp+1, 0x1.db7c5239313b0p-1,
      -0x1.ebed097b425e9p+0, 2.078125, -0x1.c084bda12f686p+0, -0x1.ebd22f7bb6e18p-2,
      -0x1.f245a1cac0806p-2, -0x1.0e5994bed7df9p+1, 0x1.206d1330c5d23p+0, -0x1.4b51eb851eb87p+1,
      -0x1.d54d4b0479aa7p+0);
  RUN("upsample_bicubic2d",
      TYPED(FNZ_F16, S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2),
      INTS(4, 5), B(false));
  HAS(0, S(1, 1, 4, 5), FNZ_F16, 0.002, 2.453125, 0x1.bf00000000000p-2, 0x1.7780000000000p+0,
      0x1.afc0000000000p+1, 0x1.6940000000000p+1, -0x1.7d80000000000p+0, 0x1.5100000000000p-1,
      0x1.2b80000000000p+1, 0x1.7180000000000p+0, -0x1.7580000000000p-1, -0x1.a740000000000p+0,
      -0x1.7d80000000000p-2, 0x1.3680000000000p-1, -0x1.1c00000000000p-1, -0x1.6e00000000000p+1,
      0x1.0a40000000000p+1, -0x1.e980000000000p+0, -0x1.3e00000000000p+1, -0x1.2e80000000000p+0,
      -2.03125);
  RUN("upsample_bicubic2d.vec",
      T(S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2), INTS(3, 4),
      B(false), NONE);
  HAS(0, S(1, 1, 3, 4), FNZ_F32, 1e-06, 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1,
      -2);
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
  RUN("grid_sampler_2d",
      TYPED(FNZ_F64, S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2),
      TYPED(FNZ_F64, S(1, 2, 3, 2), -1, -1, 0x1.3333340000000p-2, -0x1.99999a0000000p-3, 1, 1,
            -0x1.6666660000000p+0, 0x1.3333340000000p-1, 0x1.99999a0000000p-4, 0x1.2666660000000p+1,
            0.25, 0.5),
      I(0), I(0), B(false));
  HAS(0, S(1, 1, 2, 3), FNZ_F64, 1e-14, 0.5, 0x1.83d7095a8f5c4p+0, -0.5, 0, 0, -0.4375);
  RUN("grid_sampler", x, grid, I(0), I(1), B(true));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 0x1.951eb60000000p+0, -2, -0x1.9999800000000p-4,
      -0x1.9cccca0000000p+0, 0.03125);
  RUN("grid_sampler_2d",
      TYPED(FNZ_F16, S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2),
      TYPED(FNZ_F16, S(1, 2, 3, 2), -1, -1, 0x1.3340000000000p-2, -0x1.9980000000000p-3, 1, 1,
            -0x1.6680000000000p+0, 0x1.3340000000000p-1, 0x1.9980000000000p-4, 0x1.2680000000000p+1,
            0.25, 0.5),
      I(0), I(0), B(false));
  HAS(0, S(1, 1, 2, 3), FNZ_F16, 0.004, 0.5, 0x1.8480000000000p+0, -0.5, 0, 0, -0.4375);
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

SUITE_PART(kernels_nn_images, images_padded, windows_as_columns, images_resampled,
           images_at_given_places, columns_as_windows, channels_shuffled_and_planes_turned,
           windows_that_do_not_fit, images_resampled_bilinearly, images_resampled_bicubically,
           images_at_given_places_bicubically)
