/** The aspect ratios of pictures that the contract names, in its order. */
export const RATIOS = '1:1 3:2 2:3 4:3 3:4 5:4 4:5 16:9 9:16 2:1 1:2 3:1 1:3 21:9 9:21'.split(' ');
